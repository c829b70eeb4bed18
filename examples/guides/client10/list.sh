#!/bin/sh
# Prints the first page of notes. BASE_URL is https://api.example.com/acme/v2,
# say. The secret is seen in the list of processes while openssl runs.
set -eu

command=/notes timestamp=$(date +%s%3N) nonce=$(openssl rand -hex 8)
signature=$(printf '%s' "$command;GET;$timestamp" |
  openssl dgst -sha256 -hmac "$CLIENT_KEY$CLIENT_SECRET" | sed 's/.* //')

curl -sS --globoff "$BASE_URL$command?paths[]=text" \
  -H "Service-Client-Key: $CLIENT_KEY" -H "Service-Client-Signature: $signature" \
  -H "Service-Client-Timestamp: $timestamp" -H "Service-Client-Nonce: $nonce"

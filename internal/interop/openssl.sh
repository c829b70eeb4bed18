#!/usr/bin/env bash
# Proves that openssl verifies our tokens with the PEM that the server publishes, and refuses a tampered token: openssl.sh FACTS
set -euo pipefail

facts=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# fact NAME prints one of the demo facts.
fact() { node -p 'JSON.parse(require("fs").readFileSync(process.argv[1], "utf8"))[process.argv[2]]' "$facts" "$1"; }

# decode prints the bytes of unpadded base64url text.
decode() {
	local text
	text=$(tr -- '-_' '+/')
	while ((${#text} % 4)); do text+='='; done
	printf '%s' "$text" | openssl base64 -d -A
}

verify() {
	openssl dgst -sha256 -verify "$scratch/key.pem" -signature "$scratch/signature" "$scratch/signed"
}

token=$(fact ephemeral_token)
kid=$(printf '%s' "${token%%.*}" | decode | sed 's/.*"kid":"\([^"]*\)".*/\1/')
curl -fsS "$(fact base_url)/$(fact org)/v2/auth/certs/pem" >"$scratch/all.pem"

# the PEM block below the line with the token's kid
sed -n "/^# kid: $kid\$/,/^-----END/p" "$scratch/all.pem" >"$scratch/key.pem"
grep -q "^# app: $(fact client_key)\$" "$scratch/all.pem"

printf '%s' "${token%.*}" >"$scratch/signed"
printf '%s' "${token##*.}" | decode >"$scratch/signature"
verify

printf 'A' >>"$scratch/signed"
if verify >"$scratch/tampered" 2>&1; then
	printf 'openssl verifies a tampered token\n'
	exit 1
fi
printf 'openssl verifies the token, and not a tampered one\n'

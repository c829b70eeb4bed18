#!/usr/bin/env bash
# Proves that golang.org/x/oauth2 gets and uses tokens, and learns why it gets none: x-oauth2.sh FACTS
set -euo pipefail

facts=$1
partner=$(mktemp)
trap 'rm -f "$partner"' EXIT
go build -C ../.. -o "$partner" ./examples/guides/partner

# fact NAME prints one of the demo facts.
fact() { node -p 'JSON.parse(require("fs").readFileSync(process.argv[1], "utf8"))[process.argv[2]]' "$facts" "$1"; }

BASE_URL=$(fact base_url)/$(fact org)/v2
CLIENT_KEY=$(fact narrow_client_key) CLIENT_SECRET=$(fact narrow_client_secret) REQUEST=/c_messages
export BASE_URL CLIENT_KEY CLIENT_SECRET REQUEST

# got asserts that the client gets messages.
got() {
	local output
	output=$("$partner")
	grep -q '^{"object":"list","data":\[{"_id":"[^"]*","object":"c_message"}' <<<"$output"
}

got
SCOPE=object.read.c_message got

# refused WORDS asserts that the client fails and says so.
refused() {
	local output
	if output=$("$partner" 2>&1); then
		echo "not refused: $1"
		exit 1
	fi
	grep -qF "$1" <<<"$output" || {
		echo "$output"
		exit 1
	}
}

REQUEST=/connections refused accessDenied.scope
SCOPE=admin.read refused invalid_scope
CLIENT_SECRET=wrong refused invalid_client
BASE_URL=${BASE_URL/$(fact org)/$(fact other_org)} refused invalid_client
echo '6 passed, x-oauth2'

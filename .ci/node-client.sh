#!/usr/bin/env bash
# Runs clients that share no code with the library against the reference server,
# once under the neutral brand and once under another: node-client.mjs signs,
# jose.mjs and openssl.sh verify tokens. Checks that the server drains on SIGTERM.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scratch=$(mktemp -d)
server=
trap '[[ -z $server ]] || kill "$server" 2>/dev/null || true; rm -rf "$scratch"' EXIT

# check HEADER_PREFIX CLAIM_NAMESPACE FAULT_NAMESPACE
check() {
	local facts=$scratch/facts.json
	rm -f "$facts"
	"$scratch/platform" -addr 127.0.0.1:0 -db memory: -demo-json "$facts" \
		-header-prefix "$1" -claim-namespace "$2" -fault-namespace "$3" >"$scratch/log" 2>&1 &
	server=$!
	await "$facts"
	node .ci/node-client.mjs "$facts" "$1" "$3" || fail 'the checks failed'
	node "$scratch/jose.mjs" "$facts" "$2" || fail 'the checks of tokens failed'
	bash .ci/openssl.sh "$facts" || fail 'openssl does not verify the token'
	kill -TERM "$server"
	wait "$server" || fail "exit status $? after SIGTERM"
	server=
}

# await FILE waits a minute at most for the server to write FILE.
await() {
	for _ in {1..600}; do
		[[ ! -s $1 ]] || return 0
		kill -0 "$server" 2>/dev/null || fail 'the server ended before it listened'
		sleep 0.1
	done
	fail 'the server does not listen after a minute'
}

fail() {
	printf '%s; the end of its log:\n' "$1"
	tail -n 30 "$scratch/log"
	exit 1
}

# Beside its package, where Node looks for it.
npm install --prefix "$scratch" --no-save --no-package-lock --no-audit --no-fund --ignore-scripts jose@6.2.17
cp .ci/jose.mjs "$scratch"

go build -o "$scratch/platform" ./examples/platform
check Service- service/ service
check Acme- acme/ acme

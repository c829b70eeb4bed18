#!/usr/bin/env bash
# Runs clients that share no code with the library against the reference server,
# once under the neutral brand and once under another: node-client.mjs signs,
# session-client.mjs signs in, jose.mjs and openssl.sh verify tokens. Checks that
# the server drains on SIGTERM.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source .ci/server.sh

# check HEADER_PREFIX CLAIM_NAMESPACE FAULT_NAMESPACE [COOKIE TICKET DEVICE]
check() {
	local facts=$scratch/facts.json
	local brand=(-header-prefix "$1" -claim-namespace "$2" -fault-namespace "$3")
	if (($# > 3)); then
		brand+=(-session-cookie "$4" -ticket-cookie "$5" -device-cookie "$6")
	fi
	start_server "$facts" "${brand[@]}"
	node .ci/node-client.mjs "$facts" "$1" "$3" || fail 'the checks failed'
	node .ci/session-client.mjs "$facts" "$3" "${@:4}" || fail 'the checks of sessions failed'
	node "$scratch/jose.mjs" "$facts" "$2" || fail 'the checks of tokens failed'
	bash .ci/openssl.sh "$facts" || fail 'openssl does not verify the token'
	drain_server
}

# Beside its package, where Node looks for it.
install_module jose@6.2.17
cp .ci/{jose,checks}.mjs "$scratch"

check Service- service/ service
check Acme- acme/ acme '__Host-acme_{org}' acme_step_two '__Host-acme_{org}_known'

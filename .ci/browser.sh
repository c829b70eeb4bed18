#!/usr/bin/env bash
# Opens the console of the reference server in Chromium and uses it as people
# do: browser.mjs. Takes a folder for screenshots, if they are wanted.
set -euo pipefail
shots=${1:+$(realpath "$1")}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source .ci/server.sh

# The browser is the system's: the module has a part to download one.
PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 install_module playwright-core@1.65.1
cp .ci/{browser,checks,totp}.mjs "$scratch"

start_server "$scratch/facts.json"
start_server "$scratch/strict.json" -require-second-factor
start_server "$scratch/tried.json"
timeout 900 node "$scratch/browser.mjs" "$(command -v chromium)" "$scratch"/{facts,strict,tried}.json ${shots:+"$shots"} ||
	fail 'the checks in the browser failed'

# Proves nothing itself: starts and ends reference servers for the checks. The checks put their files into $scratch, too.

scratch=$(mktemp -d)
server=  # the server that was started last
servers=()
trap 'end_servers; rm -rf "$scratch"' EXIT

# start_server FACTS FLAG... starts a server on a free port of the loopback address. It returns when
# the server listens and has written FACTS. Its stores get a timeout of 10 s, because a loaded
# machine must not fail a check.
start_server() {
	[[ -x $scratch/platform ]] || (cd ../.. && go build -o "$scratch/platform" ./examples/platform)
	rm -f "$1"
	"$scratch/platform" -addr 127.0.0.1:0 -db memory: -demo-json "$1" -store-timeout 10s "${@:2}" >"$scratch/log" 2>&1 &
	server=$!
	servers+=("$server")
	await "$1"
}

# await FILE waits at most five minutes for the server to write FILE.
await() {
	for _ in {1..3000}; do
		[[ ! -s $1 ]] || return 0
		kill -0 "$server" 2>/dev/null || fail 'the server ended before it listened'
		sleep 0.1
	done
	fail 'the server does not listen after five minutes'
}

# drain_server ends the latest server. The server must finish its running requests and exit with
# status 0.
drain_server() {
	kill -TERM "$server"
	wait "$server" || fail "exit status $? after SIGTERM"
	unset 'servers[-1]'
}

end_servers() {
	local one
	for one in "${servers[@]}"; do
		kill "$one" 2>/dev/null || true
	done
}

fail() {
	printf '%s\n' "$1"
	[[ ! -s $scratch/log ]] || tail -n 30 "$scratch/log"
	exit 1
}

# install_modules NAME@VERSION... installs Node packages where scripts in $scratch find them, and
# removes others. It runs no install script of the packages. A package in npm's cache needs no network.
install_modules() {
	npm install --prefix "$scratch" --no-save --no-package-lock --no-audit --no-fund --ignore-scripts --fetch-retries=5 --prefer-offline "$@"
}

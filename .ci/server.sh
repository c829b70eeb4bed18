# Starts and ends reference servers for the checks that drive one from outside.
# To be sourced; the checks put their own files into $scratch, too.

scratch=$(mktemp -d)
server=  # the latest
servers=()
trap 'end_servers; rm -rf "$scratch"' EXIT

# start_server FACTS FLAG... starts one on a free port of the loopback address,
# and returns once it listens and has written FACTS. Its stores may be slow: a
# loaded machine is no fault of what is checked.
start_server() {
	[[ -x $scratch/platform ]] || go build -o "$scratch/platform" ./examples/platform
	rm -f "$1"
	"$scratch/platform" -addr 127.0.0.1:0 -db memory: -demo-json "$1" -store-timeout 10s "${@:2}" >"$scratch/log" 2>&1 &
	server=$!
	servers+=("$server")
	await "$1"
}

# await FILE waits five minutes at most for the server to write FILE.
await() {
	for _ in {1..3000}; do
		[[ ! -s $1 ]] || return 0
		kill -0 "$server" 2>/dev/null || fail 'the server ended before it listened'
		sleep 0.1
	done
	fail 'the server does not listen after five minutes'
}

# drain_server ends the latest server, which answers what it has begun, and
# ends well.
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
	printf '%s; the end of its log:\n' "$1"
	tail -n 30 "$scratch/log"
	exit 1
}

# install_module NAME@VERSION puts a package of Node where scripts in $scratch
# find it. None of its own programs runs. What npm has kept needs no network.
install_module() {
	npm install --prefix "$scratch" --no-save --no-package-lock --no-audit --no-fund --ignore-scripts --fetch-retries=5 --prefer-offline "$1"
}

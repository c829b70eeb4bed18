#!/usr/bin/env bash
# Starts instances of the reference server on this machine, puts load on them
# and ends them:
#
#     bash examples/loadgen/measure.sh memory         one instance, nothing shared
#     bash examples/loadgen/measure.sh redis 3        three, over one SQLite file and one Redis
#     bash examples/loadgen/measure.sh redis 3 -duration 60s -mix bearer=1
#
# What follows the number of instances goes to loadgen. Needs Go, and a
# redis-server for "redis".
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

home=${1:?memory or redis} instances=${2:-1}
shift $(($# < 2 ? $# : 2))

scratch=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$scratch"' EXIT
go build -o "$scratch/" ./examples/platform ./examples/loadgen

# Ports that are free now, below those that the system gives to clients.
port=$((20000 + RANDOM % 10000))
case $home in
memory)
  ((instances == 1)) || { echo 'instances share no memory' >&2 && exit 2; }
  stores=(-db memory:) ;;
redis)
  redis-server --bind 127.0.0.1 --port "$port" --dir "$scratch" --save '' \
    --appendonly yes --appendfsync always --maxmemory-policy noeviction >"$scratch/redis.log" &
  until redis-cli -p "$port" ping >"$scratch/ping" 2>&1; do sleep 0.1; done
  stores=(-db "sqlite:$scratch/platform.db" -redis "redis://127.0.0.1:$port") ;;
*) echo 'memory or redis' >&2 && exit 2 ;;
esac

# All are one service, whose base URL would be that of the balancer in front.
urls=()
for ((i = 1; i <= instances; i++)); do
  address=127.0.0.1:$((port + i))
  demo=(-demo=false)
  ((i > 1)) || demo=(-demo-json "$scratch/facts.json")
  "$scratch/platform" -addr "$address" -base-url "http://127.0.0.1:$((port + 1))" \
    "${stores[@]}" "${demo[@]}" >"$scratch/$i.out" 2>"$scratch/$i.log" &
  pid=$!
  until curl -sf "http://$address/readyz" >"$scratch/ready"; do
    kill -0 "$pid" || { cat "$scratch/$i.log" >&2 && exit 1; }
    sleep 0.1
  done
  urls+=(-url "http://$address/acme/v2")
done

"$scratch/loadgen" -demo-json "$scratch/facts.json" "${urls[@]}" -pid "$pid" "$@"

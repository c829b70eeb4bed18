package enginetest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// split is how long a primary confirms what does not reach its replica.
const split = 500 * time.Millisecond

var losable = []string{"tokens", "sessions", "attempts", "keys", "idempotency", "factors", "commits", "rotations"}

// failovers are the rows in which a replica takes over. Where replication is asynchronous, the engine
// undoes what it has confirmed: a run that does not find it would be too weak. Claims hold all the same.
func failovers() []historyCase {
	return []historyCase{
		{engine: "PostgreSQL", fault: "a synchronous standby takes over", long: true, set: func(t *testing.T, i *historyInstance) historyFaults {
			return promoting(t, i, true)
		}},
		{engine: "PostgreSQL", fault: "an asynchronous standby takes over", long: true, expected: losable,
			because: "what had not reached the standby is undone", set: func(t *testing.T, i *historyInstance) historyFaults {
				return promoting(t, i, false)
			}},
		{engine: "PgBouncer", fault: "pools of transactions", long: true, set: func(t *testing.T, i *historyInstance) historyFaults {
			s, err := startPostgres("-c", "fsync=on")
			skipUninstalled(t, err)
			t.Cleanup(s.stop)
			i.At = []string{startBouncer(t, s.source).String() + "&default_query_exec_mode=exec"}
			return nil
		}},
		{engine: "Sentinel", fault: "a replica takes over", long: true, expected: losable,
			because: "what had not reached the replica is undone", set: sentinel},
		{engine: "Cluster", fault: "a replica takes over", long: true, expected: losable,
			because: "what had not reached the replica is undone", set: func(t *testing.T, i *historyInstance) historyFaults {
				c := startCluster(t, clusterMasters, true, "--appendfsync", "always")
				i.At = c.addrs()
				return func(d *historyDriver, r *rand.Rand, end time.Time) {
					time.Sleep(time.Until(end) / 3)
					n := r.IntN(clusterMasters)
					lose(t, c.masters[n], c.replicas[n])
					until(func() bool {
						return strings.Contains(c.replicas[n].info(t), "cluster_state:ok") && c.replicas[n].leads(t)
					})
				}
			}},
	}
}

// lose lets a primary confirm what its replica does not get, and ends it.
func lose(t testing.TB, primary, replica *redisServer) {
	replica.signal(t, syscall.SIGSTOP) // so that it cannot connect again
	primary.command(t, "CLIENT", "KILL", "TYPE", "replica")
	time.Sleep(split)
	primary.kill(t)
	replica.signal(t, syscall.SIGCONT)
}

func (s *redisServer) leads(t testing.TB) bool {
	return strings.Contains(s.command(t, "INFO", "replication").(string), "role:master")
}

// sentinel has one Sentinel, which promotes the replica.
func sentinel(t *testing.T, i *historyInstance) historyFaults {
	primary := startRedis(t, "--appendfsync", "always", "--repl-diskless-sync-delay", "0")
	replica := startRedis(t, "--appendfsync", "always", "--replicaof", "127.0.0.1 "+primary.port)
	port := must(freePort())(t)
	config := filepath.Join(t.TempDir(), "sentinel.conf")
	text := fmt.Sprintf("port %s\nbind 127.0.0.1\nsentinel monitor histories 127.0.0.1 %s 1\nsentinel down-after-milliseconds histories 800\nsentinel failover-timeout histories 3000\n", port, primary.port)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	process := exec.Command(primary.binary, config, "--sentinel")
	process.SysProcAttr = &syscall.SysProcAttr{}
	endWithUs(process.SysProcAttr)
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { process.Process.Kill(); process.Wait() })
	do := dial(t, "127.0.0.1:"+port)
	if !until(func() bool {
		reply, err := do(t.Context(), "SENTINEL", "REPLICAS", "histories")
		return err == nil && strings.Contains(fmt.Sprint(reply), "ok") && strings.Contains(primary.command(t, "INFO", "replication").(string), "state=online")
	}) {
		t.Fatal("the Sentinel does not see the replica")
	}
	i.At = []string{"127.0.0.1:" + port}
	return func(d *historyDriver, r *rand.Rand, end time.Time) {
		time.Sleep(time.Until(end) / 3)
		lose(t, primary, replica)
		until(func() bool { return replica.leads(t) })
	}
}

// promoting promotes a standby while both primaries can be reached for a while.
func promoting(t *testing.T, i *historyInstance, synchronous bool) historyFaults {
	primary, err := startPostgres("-c", "fsync=on", "-c", "wal_sender_timeout=0")
	skipUninstalled(t, err)
	t.Cleanup(primary.stop)
	standby := newStandby(t)
	standby.follow(t, primary)
	if synchronous {
		run(t, primary.db, "ALTER SYSTEM SET synchronous_standby_names = '*'")
		run(t, primary.db, "SELECT pg_reload_conf()")
		if !until(func() (ok bool) {
			return primary.db.QueryRow("SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'").Scan(&ok) == nil && ok
		}) {
			t.Fatal("the standby is not synchronous")
		}
	}
	i.At = []string{bothOf(primary, standby)}
	return func(d *historyDriver, r *rand.Rand, end time.Time) {
		time.Sleep(time.Until(end) / 3)
		run(t, standby.db, "SELECT pg_promote()")
		time.Sleep(split)
		primary.process.Process.Signal(syscall.SIGQUIT)
		primary.process.Wait()
	}
}

// writeTable writes the part of the page that a run makes.
func writeTable(t *testing.T, rows map[int]string, length time.Duration) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "Seed %d, %v for each row, on %d cores.\n\n", historySeed(), length, runtime.NumCPU())
	fmt.Fprintf(&b, "| engine | fault | %s | unknown | undecided |\n|---|---|%s---|---|\n", strings.Join(historyKinds, " | "), strings.Repeat("---|", len(historyKinds)))
	for _, n := range slices.Sorted(maps.Keys(rows)) {
		b.WriteString(rows[n] + "\n")
	}
	writePart(t, "../../examples/guides/reliability.md", b.String())
}

// writePart writes the part of a page between two marks.
func writePart(t *testing.T, page, part string) {
	t.Helper()
	const begin, end = "<!-- begin of the table -->\n", "<!-- end of the table -->"
	before, after, ok1 := strings.Cut(read(t, page), begin)
	_, after, ok2 := strings.Cut(after, end)
	if !ok1 || !ok2 {
		t.Fatal(page + " has no place for the table")
	}
	if err := os.WriteFile(page, []byte(before+begin+part+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

package enginetest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/internal/history"
)

// historyFaults makes faults until a time, and returns when all that it has stopped runs again.
type historyFaults func(d *historyDriver, r *rand.Rand, end time.Time)

// pauses repeats a fault with random pauses until the end.
func pauses(fault func(d *historyDriver, r *rand.Rand)) historyFaults {
	return func(d *historyDriver, r *rand.Rand, end time.Time) {
		for {
			time.Sleep(time.Duration(150+r.IntN(250)) * time.Millisecond)
			if time.Now().After(end) {
				return
			}
			fault(d, r)
		}
	}
}

// killing kills one process after the other.
func killing(t testing.TB) historyFaults {
	return pauses(func(d *historyDriver, r *rand.Rand) {
		n := r.IntN(historyWorkers)
		d.workers[n].end()
		d.restart(t, n)
	})
}

// freezing stops a process for longer than short leases last.
func freezing(d *historyDriver, r *rand.Rand, end time.Time) {
	pauses(func(d *historyDriver, r *rand.Rand) {
		w := d.workers[r.IntN(historyWorkers)]
		w.process.Process.Signal(syscall.SIGSTOP)
		time.Sleep(time.Duration(200+r.IntN(500)) * time.Millisecond)
		w.process.Process.Signal(syscall.SIGCONT)
	})(d, r, end)
}

// swallowing holds back answers, and then closes the connections: the commands have run.
func swallowing(proxies ...*proxy) historyFaults {
	return pauses(func(_ *historyDriver, r *rand.Rand) {
		p := proxies[r.IntN(len(proxies))]
		p.set(false, time.Minute)
		time.Sleep(time.Duration(r.IntN(60)) * time.Millisecond)
		p.cut()
		p.set(false, time.Duration(r.IntN(3))*time.Millisecond)
	})
}

func restarting(t testing.TB, s *redisServer) historyFaults {
	return pauses(func(*historyDriver, *rand.Rand) {
		s.kill(t)
		s.start(t)
	})
}

func wiping(t testing.TB, s *redisServer) historyFaults {
	return pauses(func(*historyDriver, *rand.Rand) {
		s.kill(t)
		s.forget(t)
		s.start(t)
	})
}

// restartingPostgres ends the server as a crash does.
func restartingPostgres(t *testing.T, s *server) historyFaults {
	return pauses(func(*historyDriver, *rand.Rand) {
		s.process.Process.Kill()
		s.process.Wait()
		s.awaitEnd(t)
		if err := s.again(); err != nil {
			t.Error(err)
		}
	})
}

// resharding moves the org's slot and others from one primary to another, key by key.
func resharding(t testing.TB, c *redisCluster) historyFaults {
	at := map[int]int{}
	return pauses(func(d *historyDriver, r *rand.Rand) {
		slot := int(c.masters[0].command(t, "CLUSTER", "KEYSLOT", fmt.Sprintf("{%d}", r.IntN(256))).(int64))
		if r.IntN(2) == 0 {
			slot, _, _ = c.slotOf(t, string(history.Org(r.Int64N(16))))
		}
		from, ok := at[slot]
		if !ok {
			from = slot * len(c.masters) / 16384
		}
		at[slot] = (from + 1) % len(c.masters)
		end := c.begin(t, slot, c.masters[from], c.masters[at[slot]], r)
		time.Sleep(time.Duration(r.IntN(50)) * time.Millisecond)
		end()
	})
}

func restartingNode(t testing.TB, c *redisCluster) historyFaults {
	return pauses(func(_ *historyDriver, r *rand.Rand) {
		s := c.masters[r.IntN(len(c.masters))]
		s.kill(t)
		s.start(t)
		until(func() bool { return strings.Contains(s.info(t), "cluster_state:ok") })
	})
}

// historyCase is a row of the table.
type historyCase struct {
	engine, fault string
	long          bool     // not in the gate
	expected      []string // kinds that the fault may violate, because the engine confirms what it loses
	because       string
	set           func(t *testing.T, i *historyInstance) historyFaults
}

func through(t *testing.T, i *historyInstance, addr string) *proxy {
	p := startProxy(t, addr)
	if i.Through == nil {
		i.Through = map[string]string{}
	}
	i.Through[addr] = p.addr()
	return p
}

func sqliteCase(fault string, faults func(t *testing.T) historyFaults) historyCase {
	return historyCase{engine: "SQLite", fault: fault, set: func(t *testing.T, i *historyInstance) historyFaults {
		i.At = []string{filepath.Join(t.TempDir(), "store")}
		return faults(t)
	}}
}

func redisCase(fault string, faults func(t *testing.T, i *historyInstance, s *redisServer) historyFaults) historyCase {
	return historyCase{engine: "Redis", fault: fault, set: func(t *testing.T, i *historyInstance) historyFaults {
		s := startRedis(t, "--appendfsync", "always")
		i.At = []string{s.addr()}
		return faults(t, i, s)
	}}
}

func clusterCase(fault string, faults func(t *testing.T, i *historyInstance, c *redisCluster) historyFaults) historyCase {
	return historyCase{engine: "Cluster", fault: fault, set: func(t *testing.T, i *historyInstance) historyFaults {
		c := startCluster(t, clusterMasters, false, "--appendfsync", "always")
		i.At = c.addrs()
		return faults(t, i, c)
	}}
}

func postgresCase(fault string, faults func(t *testing.T, i *historyInstance, s *server) historyFaults) historyCase {
	return historyCase{engine: "PostgreSQL", fault: fault, set: func(t *testing.T, i *historyInstance) historyFaults {
		s, err := startPostgres("-c", "fsync=on")
		skipUninstalled(t, err)
		t.Cleanup(s.stop)
		i.At = []string{s.source}
		return faults(t, i, s)
	}}
}

func long(c historyCase) historyCase { c.long = true; return c }

func historyCases() []historyCase {
	kill := func(t *testing.T) historyFaults { return killing(t) }
	none := func(*testing.T) historyFaults { return nil }
	freeze := func(*testing.T) historyFaults { return freezing }
	return append([]historyCase{
		sqliteCase("none", none),
		sqliteCase("processes are killed", kill),
		long(sqliteCase("processes are frozen", freeze)),
		postgresCase("none", func(t *testing.T, _ *historyInstance, _ *server) historyFaults { return nil }),
		postgresCase("processes are killed", func(t *testing.T, _ *historyInstance, _ *server) historyFaults { return killing(t) }),
		long(postgresCase("processes are frozen", func(*testing.T, *historyInstance, *server) historyFaults { return freezing })),
		long(postgresCase("clocks differ by 5 s", func(_ *testing.T, i *historyInstance, _ *server) historyFaults { i.Skew = 5 * time.Second; return nil })),
		long(postgresCase("one connection", func(_ *testing.T, i *historyInstance, _ *server) historyFaults { i.Pool = 1; return nil })),
		postgresCase("responses are lost", func(t *testing.T, i *historyInstance, s *server) historyFaults {
			addr := strings.TrimSuffix(strings.TrimPrefix(s.source, "postgres://test@"), "/postgres?sslmode=disable")
			p := startProxy(t, addr)
			i.At = []string{strings.Replace(s.source, addr, p.addr(), 1)}
			return swallowing(p)
		}),
		postgresCase("the server is killed", func(t *testing.T, _ *historyInstance, s *server) historyFaults { return restartingPostgres(t, s) }),
		redisCase("none", func(*testing.T, *historyInstance, *redisServer) historyFaults { return nil }),
		redisCase("processes are killed", func(t *testing.T, _ *historyInstance, _ *redisServer) historyFaults { return killing(t) }),
		long(redisCase("processes are frozen", func(*testing.T, *historyInstance, *redisServer) historyFaults { return freezing })),
		long(redisCase("one connection", func(_ *testing.T, i *historyInstance, _ *redisServer) historyFaults { i.Pool = 1; return nil })),
		long(redisCase("clocks differ by 5 s", func(_ *testing.T, i *historyInstance, _ *redisServer) historyFaults {
			i.Skew = 5 * time.Second
			return nil
		})),
		redisCase("responses are lost", func(t *testing.T, i *historyInstance, s *redisServer) historyFaults {
			return swallowing(through(t, i, s.addr()))
		}),
		redisCase("the server is killed", func(t *testing.T, _ *historyInstance, s *redisServer) historyFaults { return restarting(t, s) }),
		clusterCase("none", func(*testing.T, *historyInstance, *redisCluster) historyFaults { return nil }),
		long(clusterCase("processes are killed", func(t *testing.T, _ *historyInstance, _ *redisCluster) historyFaults { return killing(t) })),
		long(clusterCase("responses are lost", func(t *testing.T, i *historyInstance, c *redisCluster) historyFaults {
			var all []*proxy
			for _, s := range c.masters {
				all = append(all, through(t, i, s.addr()))
			}
			return swallowing(all...)
		})),
		clusterCase("slots move", func(t *testing.T, _ *historyInstance, c *redisCluster) historyFaults { return resharding(t, c) }),
		clusterCase("a primary is killed", func(t *testing.T, _ *historyInstance, c *redisCluster) historyFaults { return restartingNode(t, c) }),
	}, append(nemeses(), failovers()...)...)
}

// historySeed is that of the calls and of the faults. HISTORY_SEED sets another one.
func historySeed() uint64 {
	seed, err := strconv.ParseUint(os.Getenv("HISTORY_SEED"), 10, 64)
	if err != nil {
		return 1
	}
	return seed
}

// TestHistories checks the promises about shared state under faults. HISTORY_SECONDS is the time of
// each row. The table is that of RELIABILITY.md, which HISTORY_TABLE=1 writes again.
func TestHistories(t *testing.T) {
	leftToTheGate(t)
	t.Parallel()
	length := 1500 * time.Millisecond // at least one fault, which comes within 400 ms
	if seconds, err := strconv.ParseFloat(os.Getenv("HISTORY_SECONDS"), 64); err == nil {
		length = time.Duration(seconds * float64(time.Second))
	} else if os.Getenv("LONG") == "1" {
		length = 20 * time.Second
	}
	var mu sync.Mutex
	rows := map[int]string{}
	t.Run("rows", func(t *testing.T) {
		for n, c := range historyCases() {
			if only := os.Getenv("ENGINE"); only != "" && only != c.engine || c.long && os.Getenv("LONG") != "1" {
				continue
			}
			t.Run(c.engine+"/"+c.fault, func(t *testing.T) {
				i := historyInstance{Engine: c.engine, Pool: 8, Patient: c.fault == "none"}
				faults := c.set(t, &i)
				d := newHistory(t, i, historySeed())
				d.run(t, length, faults)
				row := c.report(t, d)
				mu.Lock()
				rows[n] = row
				mu.Unlock()
			})
		}
	})
	for _, n := range slices.Sorted(maps.Keys(rows)) {
		t.Log(rows[n])
	}
	if os.Getenv("HISTORY_TABLE") == "1" {
		writeTable(t, rows, length)
	}
}

// report fails for a violation that is not expected, and for one that is and does not come.
func (c historyCase) report(t *testing.T, d *historyDriver) string {
	t.Helper()
	all := d.check()
	cells, unknown, undecided, found := []string{}, 0, 0, 0
	for _, kind := range historyKinds {
		v := all[kind]
		if v == nil {
			cells = append(cells, "–")
			continue
		}
		cell := strconv.Itoa(v.calls)
		unknown += v.unknown
		if undecided += v.undecided; v.undecided > max(1, v.groups/20) { // a busy machine has few groups
			t.Errorf("%s: %d of %d groups took too long to decide", kind, v.undecided, v.groups)
		}
		if v.violations > 0 {
			cell += " / **" + strconv.Itoa(v.violations) + "**"
			if !slices.Contains(c.expected, kind) {
				t.Errorf("%s: %d of %d groups have no order, seed %d. The first:\n%s", kind, v.violations, v.groups, d.seed, v.first)
			} else {
				found += v.violations
			}
		}
		if c.fault == "none" && v.unknown > 0 {
			t.Errorf("%s: %d calls without an outcome, such as %s", kind, v.unknown, v.lost)
		}
		cells = append(cells, cell)
	}
	if len(c.expected) > 0 && found == 0 {
		t.Errorf("no violation was found, although %s", c.because)
	}
	return fmt.Sprintf("| %s | %s | %s | %d | %d |", c.engine, c.fault, strings.Join(cells, " | "), unknown, undecided)
}

var historyKinds = []string{"claims", "tokens", "sessions", "attempts", "keys", "idempotency", "factors", "commits", "rotations"}

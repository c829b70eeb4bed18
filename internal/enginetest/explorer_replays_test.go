package enginetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantkit/tenantkit/auth/redisstore"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/internal/enginetest/explorer"
	"github.com/tenantkit/tenantkit/signing"
)

// exploredMoves are how many moves are explored of a world, in the gate and with LONG=1.
var exploredMoves = map[string][2]int{"Memory": {8, 12}, "SQLite": {6, 8}, "PostgreSQL": {6, 8}, "Redis": {6, 9}}

// TestExploreReplays visits every interleaving of two instances, of the clocks and of the faults of each engine.
func TestExploreReplays(t *testing.T) {
	leftToTheGate(t)
	t.Parallel()
	for _, r := range explorer.Cases() {
		t.Run(r.String(), func(t *testing.T) {
			depth := exploredMoves[r.Engine][0]
			if os.Getenv("LONG") == "1" {
				depth = exploredMoves[r.Engine][1]
			}
			all, wrong := explorer.Explore(&r, depth)
			if wrong != "" {
				t.Fatalf("%s:%s", wrong, explorer.List(explorer.Way(all, len(all)-1)))
			}
			t.Logf("%d states within %d moves", len(all), depth)
		})
	}
}

// TestExploreReplaysFindsMistakes finds each mistake, and each exception of THREATS, by a shortest history.
func TestExploreReplaysFindsMistakes(t *testing.T) {
	leftToTheGate(t)
	t.Parallel()
	for _, r := range append(explorer.Mistakes, explorer.Exceptions...) {
		t.Run(r.String(), func(t *testing.T) {
			all, wrong := explorer.Explore(&r, 8)
			if wrong == "" {
				t.Fatalf("not found in %d states", len(all))
			}
			t.Logf("%s, found in %d states:%s", wrong, len(all), explorer.List(explorer.Way(all, len(all)-1)))
		})
	}
}

// realWorld has a store whose clock and whose faults are those of the model.
type realWorld struct {
	t                 *testing.T
	base, now, offset int64 // Unix milliseconds, and of the engine's clock
	signed            [3]int64
	engine            realEngine
	runs              int
}

// realEngine is the part that engines have of their own. A result is "" if a claim has not ended.
type realEngine interface {
	fresh()
	claim(instance int8, u signing.Use) string
	goOn(instance int8) string
	fault(m explorer.Move)
}

func (w *realWorld) clock() int64 { return w.now + w.offset }

// begin begins a run, 1 ms after the begin of an epoch.
func (w *realWorld) begin() {
	w.runs++
	w.now, w.offset, w.signed = w.base-1, 0, [3]int64{}
	w.engine.fresh()
	w.now++
}

func claimed(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, signing.ErrReplayed):
		return "replayed"
	case errors.Is(err, signing.ErrStale):
		return "stale"
	}
	return "error: " + err.Error()
}

func (w *realWorld) use(r *explorer.Rule, m explorer.Move) signing.Use {
	n := explorer.Use{Nonce: 3, Signature: 2, Siblings: 1}
	if int(m.Use) < len(r.Uses) {
		n = r.Uses[m.Use]
	}
	signed := &w.signed[n.Signature]
	if *signed == 0 || int(m.Use) == len(r.Uses) {
		*signed = w.now
		if n.Ahead {
			*signed += explorer.Ahead
		}
	}
	u := signing.Use{ClientKey: "explored", Nonce: fmt.Sprintf("%016d", n.Nonce), Signed: time.UnixMilli(*signed), Seen: time.UnixMilli(w.now),
		Keep: time.UnixMilli(*signed + explorer.KeepFor), Siblings: int(n.Siblings), Window: time.Hour}
	u.Signature[0] = byte(n.Signature)
	if r.Skewed && m.Instance == 1 {
		u.Seen = u.Seen.Add(explorer.Wrong * time.Millisecond)
	}
	return u
}

// move makes a move, and returns the result of a claim that has ended.
func (w *realWorld) move(r *explorer.Rule, m explorer.Move) string {
	switch m.Verb {
	case explorer.Claim:
		return w.engine.claim(m.Instance, w.use(r, m))
	case explorer.GoOn:
		return w.engine.goOn(m.Instance)
	case explorer.Tick:
		w.now++
	case explorer.Pass:
		w.now += 14_000
	case explorer.Long:
		w.now += 90_000
	case explorer.StepBack:
		w.offset -= 9_000
	case explorer.JumpBack:
		w.offset -= 80_000
	default:
		w.engine.fault(m)
	}
	return ""
}

// follow makes moves in the model and in the store, and then claims every request. It returns the first
// difference.
func (w *realWorld) follow(r *explorer.Rule, way []explorer.Move) string {
	w.begin()
	s := r.Start()
	made := 0
	both := func(m explorer.Move) (string, bool) {
		want, _ := r.Step(&s, m)
		got := w.move(r, m)
		made++
		if got != want {
			return fmt.Sprintf("the model says %q, and the store %q, after %d moves%s\n\t%v", want, got, made, explorer.List(way), m), false
		}
		return want, true
	}
	for _, m := range way {
		if m.Verb == explorer.GoOn && !r.Runs(s, m.Instance) {
			continue // a mistake goes on where the store does not
		}
		if wrong, ok := both(m); !ok {
			return wrong
		}
	}
	finish := func() string {
		for i := range int8(2) {
			for r.Runs(s, i) {
				if wrong, ok := both(explorer.Move{Verb: explorer.GoOn, Instance: i}); !ok {
					return wrong
				}
			}
		}
		return ""
	}
	wrong := finish()
	for use := range int8(len(r.Uses) + 1) {
		if wrong == "" {
			var ok bool
			if wrong, ok = both(explorer.Move{Verb: explorer.Claim, Use: use}); ok {
				wrong = finish()
			}
		}
	}
	return wrong
}

// memoryWorld is signing.Memory on the clock of a synctest bubble.
type memoryWorld struct {
	*realWorld
	store *signing.Memory
}

func (w *memoryWorld) fresh() {
	w.now = time.Now().UnixMilli()
	w.store = signing.NewMemory(0)
}

func (w *memoryWorld) claim(_ int8, u signing.Use) string {
	time.Sleep(time.Duration(w.now-time.Now().UnixMilli()) * time.Millisecond)
	return claimed(w.store.Claim(w.t.Context(), u))
}

func (w *memoryWorld) goOn(int8) string { return "" }

func (w *memoryWorld) fault(explorer.Move) { // a crash
	w.now++
	time.Sleep(time.Duration(w.now-time.Now().UnixMilli()) * time.Millisecond)
	w.store = signing.NewMemory(0)
}

// redisWorld has the primary in database 0, and its replica in database 1.
type redisWorld struct {
	*realWorld
	server  *redisServer
	replays signing.Replays
	id      int // of replication
}

func newRedisWorld(t *testing.T, w *realWorld) *redisWorld {
	e := &redisWorld{realWorld: w, server: startRedis(t)}
	do := dial(t, e.server.addr())
	told := strings.NewReplacer(
		"call('TIME')", "{math.floor(ARGV[#ARGV-1] / 1000), ARGV[#ARGV-1] % 1000 * 1000}",
		"call('INFO', 'replication')", "('master_replid:' .. ARGV[#ARGV])",
		"now + call('PTTL', KEYS[4])", "call('PEXPIRETIME', KEYS[4])")
	store, err := redisstore.Open(t.Context(), func(ctx context.Context, args ...any) (any, error) {
		switch args[0] {
		case "EVALSHA":
			return nil, errors.New("NOSCRIPT")
		case "EVAL":
			args[1] = told.Replace(args[1].(string))
			args = append(args, strconv.FormatInt(w.clock(), 10), fmt.Sprintf("%x", e.id))
		}
		return do(ctx, args...)
	}, redisstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	e.replays = store.Replays()
	return e
}

func (w *redisWorld) fresh() {
	w.server.command(w.t, "FLUSHALL")
	w.claim(0, useAt(time.UnixMilli(w.now), "epoch", 1))
}

func (w *redisWorld) claim(_ int8, u signing.Use) string {
	if u.ClientKey == "epoch" {
		u.Seen = u.Signed
	}
	return claimed(w.replays.Claim(w.t.Context(), u))
}

func (w *redisWorld) goOn(int8) string { return "" }

func (w *redisWorld) fault(m explorer.Move) {
	const copyAll = `redis.call('SELECT', ARGV[2]); redis.call('FLUSHDB'); redis.call('SELECT', ARGV[1])
		for _, k in ipairs(redis.call('KEYS', '*')) do redis.call('COPY', k, k, 'DB', ARGV[2]) end`
	const sweep = `for _, k in ipairs(redis.call('KEYS', '*')) do
		local ends = redis.call('PEXPIRETIME', k)
		if ends > 0 and ends <= tonumber(ARGV[1]) then redis.call('DEL', k) end end`
	switch m.Verb {
	case explorer.Copy:
		w.server.command(w.t, "EVAL", copyAll, "0", "0", "1")
		return
	case explorer.Sweep:
		w.server.command(w.t, "EVAL", sweep, "0", strconv.FormatInt(w.clock(), 10))
		return
	case explorer.Switch:
		w.server.command(w.t, "SWAPDB", "0", "1")
	case explorer.Crash:
		w.server.command(w.t, "EVAL", copyAll, "0", "1", "0")
	}
	w.id++
}

// sqlWorld has the rows of the replica, or of the disk, in a second table.
type sqlWorld struct {
	*realWorld
	home    home
	db      *sql.DB // of the faults
	puppets [2]*puppet
	dbs     [2]*sql.DB
	stores  [2]*sqlstore.Store
	results [2]string
	cancel  [2]context.CancelFunc
	sweeper *sqlstore.Store
	lock    *sql.Conn // holds the statements of PostgreSQL between their reads and their writes
	started int       // the server, how often
	inside  [2]bool   // such a statement
}

func newSQLWorld(t *testing.T, w *realWorld, h home) *sqlWorld {
	e := &sqlWorld{realWorld: w, home: h, db: h.open(t)}
	driver, source := "sqlite", ""
	if h.dialect == sqlstore.PostgreSQL {
		driver, source = "pgx", durablePostgres(t)+"&default_query_exec_mode=exec"
		e.lock = must(e.db.Conn(t.Context()))(t)
	} else {
		h.store(t)
		source = fileOf(t, e.db) + "?_pragma=busy_timeout(2000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"
	}
	told := func(text string) string {
		now := strconv.FormatInt(w.clock(), 10)
		return strings.NewReplacer("floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint", now+"::bigint",
			"CAST(round(unixepoch('subsec') * 1000) AS INTEGER)", now, "pg_postmaster_start_time()", fmt.Sprintf("to_timestamp(%d)", e.started)).Replace(text)
	}
	stops := func(text string) bool {
		return strings.Contains(text, "replays") && !strings.Contains(text, "LIMIT") && !strings.Contains(text, "- 70000") || strings.Contains(text, "INSERT INTO "+h.prefix+"marks")
	}
	for i := range e.puppets {
		e.puppets[i] = newPuppet(func(text string) string {
			// Writes sweep by themselves: here they find nothing.
			text = strings.NewReplacer("<= (SELECT", "<= 0 * (SELECT", "- 70000", "- 70000 AND false").Replace(told(text))
			return strings.Replace(text, "SELECT $1::bytea, $4::bigint, 1,",
				fmt.Sprintf("SELECT $1::bytea, $4::bigint, 1 + length(pg_advisory_xact_lock_shared(%d)::text),", e.lockOf(int8(i))), 1)
		}, stops)
		e.dbs[i] = e.puppets[i].open(t, driver, source)
		e.hold(int8(i))
		e.open(int8(i))
	}
	e.sweeper = must(sqlstore.Open(t.Context(), newPuppet(told, nil).open(t, driver, source), h.dialect, h.options()))(t)
	run(t, e.db, "CREATE TABLE "+h.prefix+"copy AS SELECT * FROM "+h.prefix+"replays WHERE false")
	return e
}

func (w *sqlWorld) lockOf(instance int8) int { return 1000*os.Getpid() + int(instance) }

func (w *sqlWorld) hold(instance int8) {
	if w.lock != nil {
		must(w.lock.ExecContext(w.t.Context(), "SELECT pg_advisory_lock($1)", w.lockOf(instance)))(w.t)
	}
}

func (w *sqlWorld) open(instance int8) {
	w.puppets[instance].free.Store(true)
	w.stores[instance] = must(sqlstore.Open(w.t.Context(), w.dbs[instance], w.home.dialect, w.home.options()))(w.t)
}

func (w *sqlWorld) fresh() {
	run(w.t, w.db, "DELETE FROM "+w.home.prefix+"replays")
	run(w.t, w.db, "DELETE FROM "+w.home.prefix+"copy")
	for i := range w.stores {
		w.abort(int8(i))
		if w.home.dialect == sqlstore.SQLite {
			w.open(int8(i))
		}
		expect(w.t, "the first claim of an epoch", w.stores[i].Replays().Claim(w.t.Context(), useAt(time.UnixMilli(w.now), "epoch", 1)), signing.ErrStale)
	}
}

// abort ends a claim that runs.
func (w *sqlWorld) abort(instance int8) {
	p := w.puppets[instance]
	p.free.Store(true)
	if w.cancel[instance] == nil {
		return
	}
	w.cancel[instance]()
	if !w.inside[instance] {
		p.on <- true
	}
	for <-p.at != "" {
		p.on <- true
	}
	if w.inside[instance] && !until(func() bool { return !w.waits(instance) }) {
		w.t.Fatal("a statement goes on after its end")
	}
	w.cancel[instance], w.inside[instance] = nil, false
}

func (w *sqlWorld) claim(instance int8, u signing.Use) string {
	ctx, cancel := context.WithCancel(w.t.Context())
	p := w.puppets[instance]
	p.free.Store(false)
	w.cancel[instance] = cancel
	p.start(func() { w.results[instance] = claimed(w.stores[instance].Replays().Claim(ctx, u)) })
	return w.goOn(instance)
}

func (w *sqlWorld) goOn(instance int8) string {
	p := w.puppets[instance]
	if w.inside[instance] {
		must(w.lock.ExecContext(w.t.Context(), "SELECT pg_advisory_unlock($1)", w.lockOf(instance)))(w.t)
		defer w.hold(instance)
	} else {
		p.on <- true
	}
	was := w.inside[instance]
	w.inside[instance] = false
	for {
		select {
		case text := <-p.at:
			if strings.Contains(text, " AS e (id") { // the second half of the begin of an epoch
				p.on <- true
				continue
			}
			if text != "" {
				return ""
			}
			w.cancel[instance]()
			w.cancel[instance] = nil
			p.free.Store(true)
			return w.results[instance]
		case <-time.After(time.Millisecond):
			if w.lock != nil && !was && w.waits(instance) {
				w.inside[instance] = true
				return ""
			}
		}
	}
}

// waits reports whether a statement waits for its writes.
func (w *sqlWorld) waits(instance int8) (waits bool) {
	expect(w.t, "pg_locks", w.lock.QueryRowContext(w.t.Context(), "SELECT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objid = $1)",
		w.lockOf(instance)).Scan(&waits), nil)
	return waits
}

func (w *sqlWorld) fault(m explorer.Move) {
	copied, all := w.home.prefix+"copy", w.home.prefix+"replays"
	into := func(to, from string) {
		run(w.t, w.db, "DELETE FROM "+to)
		run(w.t, w.db, "INSERT INTO "+to+" SELECT * FROM "+from)
	}
	switch m.Verb {
	case explorer.Copy:
		into(copied, all)
		return
	case explorer.Sweep:
		expect(w.t, "Sweep", w.sweeper.Sweep(w.t.Context()), nil)
		return
	case explorer.Reopen:
		w.open(m.Instance)
		return
	}
	for i := range int8(2) {
		if w.inside[i] {
			w.abort(i)
		}
	}
	if m.Verb == explorer.Switch {
		run(w.t, w.db, "CREATE TABLE third AS SELECT * FROM "+copied)
		into(copied, all)
		into(all, "third")
		run(w.t, w.db, "DROP TABLE third")
		w.started++
	} else {
		into(all, copied)
	}
	if w.home.dialect == sqlstore.SQLite {
		w.open(0)
		w.open(1)
		return
	}
	run(w.t, w.db, "DELETE FROM "+w.home.prefix+"marks")
}

// TestStoresAreLikeTheModel makes the moves of the explorer with the stores: all transitions within some moves,
// long random ways, and the shortest history of each mistake.
func TestStoresAreLikeTheModel(t *testing.T) {
	long := os.Getenv("LONG") == "1"
	depths, walks := map[string]int{"Memory": 3, "SQLite": 1, "PostgreSQL": 1, "Redis": 2}, 10
	if long {
		depths, walks = map[string]int{"Memory": 5, "SQLite": 3, "PostgreSQL": 3, "Redis": 4}, 1000
	}
	for _, engine := range []string{"Memory", "SQLite", "PostgreSQL", "Redis"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			w := &realWorld{t: t, base: time.Now().Add(time.Hour).UnixMilli()}
			switch engine {
			case "Memory":
				w.engine = &memoryWorld{realWorld: w}
			case "Redis":
				w.engine = newRedisWorld(t, w)
			case "SQLite":
				w.engine = newSQLWorld(t, w, newSQLiteHome(t))
			case "PostgreSQL":
				w.engine = newSQLWorld(t, w, newPostgresHome(t))
			}
			try := func(r *explorer.Rule, way []explorer.Move) {
				follow := func() (wrong string) {
					if engine != "Memory" {
						return w.follow(r, way)
					}
					synctest.Test(t, func(t *testing.T) { w.t = t; wrong = w.follow(r, way) })
					return wrong
				}
				if wrong := follow(); wrong != "" && follow() != "" { // a machine that stands still ends a claim
					t.Fatalf("%v: %s", r, wrong)
				}
			}
			for _, r := range explorer.Cases() {
				if r.Engine != engine {
					continue
				}
				all, _ := explorer.Explore(&r, depths[engine])
				for at := range all {
					if int(all[at].Depth) == depths[engine] {
						break
					}
					way := explorer.Way(all, at)
					s := r.Start()
					for _, m := range way {
						s, _ = r.Do(s, m)
					}
					var same []explorer.Move // moves that change nothing, in one history
					for _, m := range r.Moves(s) {
						if after, _ := r.Do(s, m); after == s {
							same = append(same, m)
						} else {
							try(&r, append(slices.Clone(way), m))
						}
					}
					try(&r, append(way, same...))
				}
				random := rand.New(rand.NewPCG(1, 1))
				for range walks {
					s := r.Start()
					var way []explorer.Move
					for range 12 {
						moves := r.Moves(s)
						m := moves[random.IntN(len(moves))]
						s, _ = r.Do(s, m)
						way = append(way, m)
					}
					try(&r, way)
				}
			}
			for _, mistaken := range explorer.Mistakes {
				if mistaken.Engine != engine {
					continue
				}
				all, _ := explorer.Explore(&mistaken, 8)
				right := mistaken
				right.Mistake = ""
				try(&right, explorer.Way(all, len(all)-1))
			}
			t.Logf("%d histories", w.runs)
		})
	}
}

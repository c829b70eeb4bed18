package enginetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/audit"
	"github.com/tenantkit/tenantkit/auth/idempotency"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/token"
)

// exploredIn has instances whose statements run in each order that PostgreSQL lets them.
type exploredIn struct {
	t         *testing.T
	home      home
	db        *sql.DB
	store     *sqlstore.Store // of nobody's transaction
	actors    []*inActor
	isolation sql.IsolationLevel
	spoil     *strings.Replacer // of the statements; nil: they are right
	runs      int
	deadlocks int
}

// inActor is one instance. Each run has an org of its own.
type inActor struct {
	*puppet
	w      *exploredIn
	n      int
	db     *sql.DB
	store  *sqlstore.Store
	pid    int
	org    auth.OrgKey
	commit bool // what it does at the end
	result string
	state  actorState
}

type actorState int

const (
	stopped actorState = iota
	running
	blocked
	ended
)

func newExploredIn(t *testing.T, actors int, audited bool) *exploredIn {
	h := newPostgresHome(t)
	h.audited = audited
	w := &exploredIn{t: t, home: h, db: h.open(t)}
	w.store = h.storeIn(t, w.db)
	run(t, w.db, "CREATE TABLE "+h.prefix+"app (org text, id text)")
	// Statements that touch nothing that another transaction sees are one step with the next one.
	stops := func(text string) bool {
		alone := func(part string) bool { return strings.Contains(text, part) }
		return !slices.ContainsFunc([]string{"SAVEPOINT", "pg_control_system", h.prefix + "app", "pg_backend_pid"}, alone)
	}
	patient := strings.NewReplacer("'2s'", "'60s'", "'3s'", "'60s'")
	rewrite := func(text string) string {
		if text = patient.Replace(text); w.spoil != nil {
			text = w.spoil.Replace(text)
		}
		return text
	}
	for n := range actors {
		a := &inActor{w: w, n: n, puppet: newPuppet(rewrite, stops)}
		a.db = a.open(t, "pgx", durablePostgres(t)+"&default_query_exec_mode=exec&deadlock_timeout=5ms")
		a.db.SetMaxOpenConns(1)
		a.store = h.storeIn(t, a.db)
		w.actors = append(w.actors, a)
	}
	return w
}

// in runs verbs and a row of the application in a transaction, which it commits or rolls back.
func (a *inActor) in(verbs func(context.Context, *sqlstore.In, sqlstore.Tx) error) string {
	ctx := a.w.t.Context()
	tx, err := a.db.BeginTx(ctx, &sql.TxOptions{Isolation: a.w.isolation})
	if err != nil {
		return wordOf(err)
	}
	defer tx.Rollback()
	in, err := a.store.In(ctx, tx)
	if err == nil {
		err = verbs(ctx, in, tx)
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, "INSERT INTO "+a.w.home.prefix+"app VALUES ($1, $2)", a.org, a.n)
	}
	if err == nil && a.commit {
		err = tx.Commit()
	}
	return wordOf(err)
}

// wordOf returns the last part of an error.
func wordOf(err error) string {
	if err == nil {
		return "ok"
	}
	if state, ok := errors.AsType[*pgconn.PgError](err); ok {
		return state.Code
	}
	return err.Error()[strings.LastIndex(err.Error(), ": ")+1:]
}

// inCase is what actors do at the same time.
type inCase struct {
	name      string
	audited   bool
	deadlocks bool // as In documents it
	most      int  // interleavings in the gate, if not all
	prepare   func(ctx context.Context, w *exploredIn, org auth.OrgKey) error
	actors    []func(a *inActor) string
}

func (c *inCase) issue(id, parent string, limit int) func(*inActor) string {
	return func(a *inActor) string {
		return a.in(func(ctx context.Context, in *sqlstore.In, _ sqlstore.Tx) error {
			r := recordOf(a.org, id)
			r.Parent = parent
			return in.Ledger().Issue(ctx, r, nil, limit)
		})
	}
}

var exploredPairs = sync.OnceValue(func() (all []*token.KeyPair) {
	for range 2 {
		pair, err := token.GeneratePair(2048)
		if err != nil {
			panic(err)
		}
		all = append(all, pair)
	}
	return all
})

func inCases() []inCase {
	var c inCase
	verb := func(f func(ctx context.Context, in *sqlstore.In, org auth.OrgKey) error) func(*inActor) string {
		return func(a *inActor) string {
			return a.in(func(ctx context.Context, in *sqlstore.In, _ sqlstore.Tx) error { return f(ctx, in, a.org) })
		}
	}
	of := func(org auth.OrgKey, app string) token.Holder {
		return token.Holder{Org: org, ClientKey: app, Subject: "ann"}
	}
	revokeOne := verb(func(ctx context.Context, in *sqlstore.In, org auth.OrgKey) error {
		return in.Ledger().Revoke(ctx, recordOf(org, "one").Holder(), "one")
	})
	revokeSubject := verb(func(ctx context.Context, in *sqlstore.In, org auth.OrgKey) error {
		_, err := in.Ledger().RevokeSubject(ctx, of(org, recordOf(org, "").ClientKey))
		return err
	})
	endSessions := verb(func(ctx context.Context, in *sqlstore.In, org auth.OrgKey) error {
		_, err := in.Sessions().DeleteAll(ctx, org, "ann", "")
		return err
	})
	accept := verb(func(ctx context.Context, in *sqlstore.In, org auth.OrgKey) error {
		return in.Sessions().DeleteID(ctx, org, "ann", "first")
	})
	issued := func(ctx context.Context, w *exploredIn, org auth.OrgKey) error {
		return w.store.Ledger().Issue(ctx, recordOf(org, "one"), nil, 10)
	}
	invited := func(ctx context.Context, w *exploredIn, org auth.OrgKey) error {
		n := annsSession(org)
		n.ID, n.Ticket = "first", "invite"
		return w.store.Sessions().Create(ctx, n, 0)
	}
	login := func(a *inActor) string {
		n := sessionOf(fmt.Sprint(a.org, " ", a.n))
		n.Org, n.Account, n.ID = a.org, "ann", fmt.Sprint("login ", a.n)
		return wordOf(a.store.Sessions().Create(a.w.t.Context(), n, 1))
	}
	addKey := func(a *inActor) string {
		return a.in(func(ctx context.Context, in *sqlstore.In, _ sqlstore.Tx) error {
			r := apiKeyOf(a.org, "ann")
			r.ID = fmt.Sprint(a.org, " ", a.n)
			return in.APIKeys().Add(ctx, r, 1)
		})
	}
	replaceKey := verb(func(ctx context.Context, in *sqlstore.In, org auth.OrgKey) error {
		now := apiKeyOf(org, "ann")
		next, after := now, now
		next.ID, after.Successor = "next of "+string(org), "next of "+string(org)
		return in.APIKeys().Swap(ctx, now, after, &next, 10)
	})
	revokeAccount := verb(func(ctx context.Context, in *sqlstore.In, org auth.OrgKey) error {
		return in.RevokeAccount(ctx, org, "ann")
	})
	entry := func(org auth.OrgKey, fence string) idempotency.Entry {
		e := idempotency.Entry{Org: org, Caller: "ann", Fence: fence, Sealed: []byte("sealed")}
		copy(e.ID[:], org)
		return e
	}
	options := idempotency.Options{Lease: time.Millisecond, Keep: time.Hour, MaxBytes: 1 << 20}
	pairs := exploredPairs()
	put := func(pair, app int) func(*inActor) string {
		return verb(func(ctx context.Context, in *sqlstore.In, org auth.OrgKey) error {
			keys, err := in.Keys()
			if err == nil {
				err = putPair(ctx, keys, org, pairs[pair], app)
			}
			return err
		})
	}
	unpaired := func(_ context.Context, w *exploredIn, _ auth.OrgKey) error {
		run(w.t, w.db, "DELETE FROM "+w.home.prefix+"keys")
		return nil
	}
	paired := func(ctx context.Context, w *exploredIn, org auth.OrgKey) error {
		return errors.Join(unpaired(ctx, w, org), putPair(ctx, must(w.store.Keys())(w.t), org, pairs[0], 0))
	}
	mint := func(a *inActor) string {
		signer := must(must(a.store.Keys())(a.w.t).Signer(a.w.t.Context(), appOf(a.org, 0)))(a.w.t)
		return a.in(func(ctx context.Context, in *sqlstore.In, _ sqlstore.Tx) error {
			r := recordOf(a.org, "one")
			r.ClientKey, r.KeyID = appOf(a.org, 0), signer.KeyID
			return in.Ledger().Issue(ctx, r, nil, 10)
		})
	}
	return []inCase{
		{name: "two tokens at a limit of one", actors: []func(*inActor) string{c.issue("one", "", 1), c.issue("two", "", 1)}},
		{name: "a token, and the end of its parent", prepare: issued, actors: []func(*inActor) string{c.issue("two", "one", 10), revokeOne}},
		{name: "a token, and the end of its subject", prepare: issued, actors: []func(*inActor) string{c.issue("two", "", 10), revokeSubject}},
		{name: "two revocations", audited: true, prepare: issued, actors: []func(*inActor) string{revokeOne, revokeSubject}},
		{name: "a login, and the end of all sessions", prepare: invited, actors: []func(*inActor) string{login, endSessions}},
		{name: "two logins at a limit of one", actors: []func(*inActor) string{login, login}},
		{name: "two API keys at a limit of one", actors: []func(*inActor) string{addKey, addKey}},
		{name: "a replaced API key, and the end of its account", prepare: func(ctx context.Context, w *exploredIn, org auth.OrgKey) error {
			return w.store.APIKeys().Add(ctx, apiKeyOf(org, "ann"), 10)
		}, actors: []func(*inActor) string{replaceKey, revokeAccount}},
		{name: "an invitation is accepted, and deleted", audited: true, prepare: invited, actors: []func(*inActor) string{accept, accept}},
		{name: "an invitation is accepted, and its account ended", prepare: invited, actors: []func(*inActor) string{accept, revokeAccount}},
		{name: "a commit, and the request again", prepare: func(ctx context.Context, w *exploredIn, org auth.OrgKey) error {
			entries, err := w.store.Idempotency()
			if err == nil {
				_, err = entries.Begin(ctx, entry(org, "first"), options)
			}
			time.Sleep(3 * time.Millisecond) // its lease
			return err
		}, actors: []func(*inActor) string{func(a *inActor) string {
			entries := must(a.store.Idempotency())(a.w.t)
			return a.in(func(ctx context.Context, _ *sqlstore.In, tx sqlstore.Tx) error {
				return entries.(interface {
					EndIn(context.Context, interface{ Commit() error }, idempotency.Entry) error
				}).EndIn(ctx, tx, entry(a.org, "first"))
			})
		}, func(a *inActor) string {
			got, err := must(a.store.Idempotency())(a.w.t).Begin(a.w.t.Context(), entry(a.org, "second"), options)
			return got.Fence + " " + wordOf(err)
		}}},
		{name: "two entries of the log", audited: true, actors: []func(*inActor) string{c.issue("one", "", 10), c.issue("two", "", 10)}},
		{name: "an org is deleted, and gets a token", audited: true, most: 20, prepare: issued, actors: []func(*inActor) string{
			verb(func(ctx context.Context, in *sqlstore.In, org auth.OrgKey) error { return in.DeleteOrg(ctx, org) }), c.issue("two", "", 10)}},
		{name: "a new key pair, and a token", most: 20, prepare: paired, actors: []func(*inActor) string{put(1, 0), mint}},
		{name: "one key pair for two apps", prepare: unpaired, actors: []func(*inActor) string{put(1, 0), put(1, 1)}},
		{name: "two apps in two orders", deadlocks: true, most: 15, actors: []func(*inActor) string{twoApps(0, 1), twoApps(1, 0)}},
		{name: "two tokens, and the end of their subject", prepare: issued, actors: []func(*inActor) string{c.issue("two", "", 2), c.issue("three", "", 2), revokeSubject}},
	}
}

func appOf(org auth.OrgKey, app int) string { return clientKeyOf(org)[1:] + strconv.Itoa(app) }

func putPair(ctx context.Context, keys *sqlstore.Keys, org auth.OrgKey, pair *token.KeyPair, app int) error {
	p := *pair
	p.Org, p.ClientKey = org, appOf(org, app)
	return keys.Put(ctx, &p)
}

// twoApps makes a token in each of two apps.
func twoApps(first, second int) func(*inActor) string {
	return func(a *inActor) string {
		return a.in(func(ctx context.Context, in *sqlstore.In, _ sqlstore.Tx) error {
			for _, app := range []int{first, second} {
				r := recordOf(a.org, fmt.Sprint("by ", a.n))
				r.ClientKey += fmt.Sprint(app)
				if err := in.Ledger().Issue(ctx, r, nil, 10); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// begin prepares an org of its own for a run.
func (w *exploredIn) begin(c *inCase, ends []bool) {
	w.runs++
	org := auth.OrgKey(fmt.Sprintf("r%06d", w.runs)) // of one length, as client keys
	if c.prepare != nil {
		expect(w.t, "prepare", c.prepare(w.t.Context(), w, org), nil)
	}
	for i, a := range w.actors {
		a.org, a.commit, a.state, a.result = org, ends[i], running, ""
		a.free.Store(true)
		expect(w.t, "pid", a.db.QueryRow("SELECT pg_backend_pid()").Scan(&a.pid), nil)
	}
}

// outcome returns all results, and what is left.
func (w *exploredIn) outcome() string {
	a, p := w.actors[0], w.home.prefix
	var left string
	expect(w.t, "outcome", w.db.QueryRow(`SELECT coalesce(string_agg(x, ', ' ORDER BY x), '') FROM (
		SELECT 'row of ' || id AS x FROM `+p+`app WHERE org = $1
		UNION ALL SELECT 'token ' || client_key || ' ' || id || ' ' || EXISTS (SELECT 1 FROM `+p+`keys k WHERE k.key_id = l.key_id) FROM `+p+`ledger l WHERE org = $1
		UNION ALL SELECT 'pair of ' || client_key FROM `+p+`keys WHERE org = $1
		UNION ALL SELECT 'session ' || id || ' ' || replaced FROM `+p+`sessions WHERE org = $1
		UNION ALL SELECT 'key ' || id FROM `+p+`api_keys WHERE org = $1
		UNION ALL SELECT 'entry ' || fence FROM `+p+`repeats WHERE org = $1
		UNION ALL SELECT 'audit ' || n || ' ' || verb || ' ' || token FROM `+p+`audit WHERE org = $1) AS all_of_it`, a.org).Scan(&left), nil)
	if w.home.audited {
		if err := w.store.Audit().Verify(w.t.Context(), a.org, audit.Head{}); err != nil {
			left += ", " + err.Error()
		}
	}
	for i, a := range w.actors {
		left = fmt.Sprintf("%d: %s, %s", i, a.result, left)
	}
	return strings.ReplaceAll(left, string(a.org), "ORG")
}

// serial returns the outcomes of all orders of whole actors.
func (w *exploredIn) serial(c *inCase, ends []bool) map[string]bool {
	all := map[string]bool{}
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		w.begin(c, ends)
		for _, i := range order {
			if i < len(w.actors) {
				w.actors[i].result = c.actors[i](w.actors[i])
			}
		}
		all[w.outcome()] = true
	}
	return all
}

// settle waits until no actor runs: each has stopped, has ended, or waits for another one.
func (w *exploredIn) settle() {
	for again := true; again; {
		again = false
		for _, a := range w.actors {
			for a.state == running || a.state == blocked && !w.waits(a) {
				again = true // it may have ended the wait of another one
				select {
				case text := <-a.at:
					if a.state = stopped; text == "" {
						a.state = ended
					}
				case <-time.After(500 * time.Microsecond):
					if a.state = running; w.waits(a) {
						a.state = blocked
					}
				}
			}
		}
	}
}

func (w *exploredIn) waits(a *inActor) (waits bool) {
	expect(w.t, "pg_blocking_pids", w.db.QueryRow("SELECT cardinality(pg_blocking_pids($1)) > 0", a.pid).Scan(&waits), nil)
	return waits
}

// interleave runs the actors. choose says who goes on of so many that can.
func (w *exploredIn) interleave(c *inCase, ends []bool, choose func(of int) int) (order []int) {
	w.begin(c, ends)
	for i, a := range w.actors {
		a.free.Store(false)
		a.start(func() { a.result = c.actors[i](a) })
		a.state = stopped
	}
	for {
		var can []*inActor
		waiting := false
		for _, a := range w.actors {
			if waiting = waiting || a.state == blocked; a.state == stopped {
				can = append(can, a)
			}
		}
		switch {
		case len(can) == 0 && !waiting:
			return order
		case len(can) == 0: // they wait for each other, until PostgreSQL ends one
			w.deadlocks++
			if !until(func() bool {
				return slices.ContainsFunc(w.actors, func(a *inActor) bool { return a.state == blocked && !w.waits(a) })
			}) {
				w.t.Fatal("a deadlock does not end")
			}
		default:
			a := can[choose(len(can))]
			order = append(order, a.n)
			a.state = running
			a.on <- true
		}
		w.settle()
	}
}

// all runs every interleaving, at most some, and returns their number and the first wrong outcome.
func (w *exploredIn) all(c *inCase, ends []bool, most int) (n int, wrong string) {
	spoil, isolation := w.spoil, w.isolation
	w.spoil, w.isolation = nil, 0
	allowed := w.serial(c, ends)
	w.spoil, w.isolation = spoil, isolation
	var chosen, of []int
	for n = 1; ; n++ {
		at := 0
		order := w.interleave(c, ends, func(can int) int {
			if at == len(chosen) {
				chosen, of = append(chosen, 0), append(of, can)
			}
			of[at], chosen[at] = can, min(chosen[at], can-1)
			at++
			return chosen[at-1]
		})
		got := w.outcome()
		if !allowed[got] && !(c.deadlocks && strings.Contains(got, "40P01")) {
			return n, fmt.Sprintf("statements in the order %v, committed %v: %s\nis none of\n\t%s", order, ends, got, strings.Join(slices.Sorted(maps.Keys(allowed)), "\n\t"))
		}
		chosen, of = chosen[:at], of[:at]
		for at--; at >= 0 && chosen[at]+1 == of[at]; at-- {
			chosen, of = chosen[:at], of[:at]
		}
		if at < 0 || n == most {
			return n, ""
		}
		chosen[at]++
	}
}

// inEnds are who commits, and who rolls back.
func inEnds(actors int) (all [][]bool) {
	for bits := range 1 << actors {
		var ends []bool
		for i := range actors {
			ends = append(ends, bits>>i&1 == 0)
		}
		all = append(all, ends)
	}
	return all
}

// inWorlds are reused, because it takes long to make them.
type inWorlds map[string]*exploredIn

func (all inWorlds) of(parent, t *testing.T, c *inCase) *exploredIn {
	key := fmt.Sprint(len(c.actors), c.audited)
	if all[key] == nil {
		all[key] = newExploredIn(parent, len(c.actors), c.audited)
	}
	w := all[key]
	w.t, w.deadlocks = t, 0
	return w
}

// TestExploreIn runs transactions of the application in every order of their statements that PostgreSQL lets
// them: all results and all that is left are those of one transaction after the other.
func TestExploreIn(t *testing.T) {
	leftToTheGate(t)
	t.Parallel()
	parent := t
	worlds, long, sum := inWorlds{}, os.Getenv("LONG") == "1", 0
	for _, c := range inCases() {
		if len(c.actors) > 2 && !long {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			w, n := worlds.of(parent, t, &c), 0
			for i, ends := range inEnds(len(c.actors)) {
				most := 100_000
				if !long && c.most > 0 {
					most = c.most
				}
				if !long && i > 1 {
					break
				}
				more, wrong := w.all(&c, ends, most)
				if n += more; wrong != "" {
					t.Fatal(wrong)
				}
			}
			if c.deadlocks != (w.deadlocks > 0) {
				t.Errorf("%d deadlocks", w.deadlocks)
			}
			sum += n
			t.Logf("%d interleavings, %d deadlocks", n, w.deadlocks)
		})
	}
	t.Logf("%d interleavings", sum)
}

// inSabotages are mistakes in each statement of a transaction, and the case that must find each.
var inSabotages = []struct {
	name, found string
	isolation   sql.IsolationLevel
	replace     []string
}{
	{"no lock is taken", "two tokens at a limit of one", 0, []string{"pg_advisory_xact_lock(", "hashint8("}},
	{"no lock is taken", "two logins at a limit of one", 0, []string{"pg_advisory_xact_lock(", "hashint8("}},
	{"no lock is taken", "two API keys at a limit of one", 0, []string{"pg_advisory_xact_lock(", "hashint8("}},
	{"no lock is taken", "a replaced API key, and the end of its account", 0, []string{"pg_advisory_xact_lock(", "hashint8("}},
	{"no lock is taken", "one key pair for two apps", 0, []string{"pg_advisory_xact_lock(", "hashint8("}},
	{"locks end before the commit", "two tokens at a limit of one", 0, []string{"pg_advisory_xact_lock(", "pg_advisory_lock(",
		"RELEASE SAVEPOINT tenantkit_step", "RELEASE SAVEPOINT tenantkit_step; SELECT pg_advisory_unlock_all()"}},
	{"a verb is not in the transaction", "two API keys at a limit of one", 0, []string{"RELEASE SAVEPOINT tenantkit_step", "COMMIT; BEGIN"}},
	{"it is read before the lock", "two tokens at a limit of one", sql.LevelRepeatableRead, []string{"current_setting('transaction_isolation')", "'read committed'"}},
	{"the head of the log is not locked", "two entries of the log", 0, []string{"pg_advisory_xact_lock(", "hashint8(", " FOR UPDATE", ""}},
	{"a fence is not compared", "a commit, and the request again", 0, []string{"fence = $2 AND", "$2 <> '' AND"}},
}

// TestExploreInFindsMistakes puts one mistake at a time into the statements.
func TestExploreInFindsMistakes(t *testing.T) {
	leftToTheGate(t)
	t.Parallel()
	parent, worlds, cases := t, inWorlds{}, inCases()
	for _, s := range inSabotages {
		t.Run(s.name+", "+s.found, func(t *testing.T) {
			c := &cases[slices.IndexFunc(cases, func(c inCase) bool { return c.name == s.found })]
			w, n := worlds.of(parent, t, c), 0
			w.spoil, w.isolation = strings.NewReplacer(s.replace...), s.isolation
			for _, ends := range inEnds(len(c.actors)) {
				more, wrong := w.all(c, ends, 100_000)
				if n += more; wrong != "" {
					t.Logf("found after %d interleavings: %s", n, wrong)
					return
				}
			}
			t.Errorf("not found in %d interleavings", n)
		})
	}
}

package enginetest

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/auth/idempotency"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/scope"
)

// repeatLease is short, so that a test need not wait long for that of a dead process to end.
const repeatLease = 400 * time.Millisecond

// repeatJob is where the processes of a test serve.
type repeatJob struct {
	Driver, Source, Prefix, Effects string
	Dialect                         sqlstore.Dialect
}

func (j repeatJob) open(t testing.TB) (*sql.DB, *sqlstore.Store) {
	t.Helper()
	db := openDB(t, j.Driver, j.Source)
	sealer := must(sqlstore.NewSealer([]byte("the same key of 32 bytes for all")))(t)
	return db, must(sqlstore.Open(t.Context(), db, j.Dialect, sqlstore.Options{Prefix: j.Prefix, Sealer: sealer}))(t)
}

func repeatJobs(t *testing.T) map[string]repeatJob {
	t.Helper()
	all := make(map[string]repeatJob)
	for _, h := range homes(t) {
		j := repeatJob{"pgx", "", prefixOf(h.prefix), h.prefix + "effects", h.dialect}
		if h.dialect == sqlstore.SQLite {
			j.Driver, j.Source = "sqlite", "file:"+t.TempDir()+"/store?_txlock=immediate&_pragma=busy_timeout(2000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"
		} else {
			j.Source = durablePostgres(t)
		}
		db, _ := j.open(t)
		must(db.Exec("CREATE TABLE " + j.Effects + " (id TEXT PRIMARY KEY, request TEXT NOT NULL)"))(t)
		all[h.name] = j
	}
	return all
}

// steps is how many steps of a request remain before its process gets a signal.
type steps struct {
	left   atomic.Int64
	signal syscall.Signal
}

// interrupt ends or stops the process if this is the step.
func interrupt(ctx context.Context) {
	s, _ := ctx.Value(stepsKey{}).(*steps)
	if s != nil && s.left.Add(-1) == 0 {
		syscall.Kill(os.Getpid(), s.signal)
		time.Sleep(time.Millisecond) // until the signal has come
	}
}

type stepsKey struct{}

const requestSteps = 9 // of an attempt that runs the handler

// stepping is a store with a step before and after each call.
type stepping struct{ idempotency.Store }

func (s stepping) Begin(ctx context.Context, e idempotency.Entry, o idempotency.Options) (idempotency.Entry, error) {
	interrupt(ctx)
	defer interrupt(ctx)
	return s.Store.Begin(ctx, e, o)
}

func (s stepping) EndIn(ctx context.Context, tx interface{ Commit() error }, e idempotency.Entry) error {
	interrupt(ctx)
	defer interrupt(ctx)
	return s.Store.(interface {
		EndIn(context.Context, interface{ Commit() error }, idempotency.Entry) error
	}).EndIn(ctx, tx.(steppingTx).Tx, e)
}

type steppingTx struct {
	*sql.Tx
	ctx context.Context
}

func (x steppingTx) Commit() error {
	interrupt(x.ctx)
	defer interrupt(x.ctx)
	return x.Tx.Commit()
}

type sealing interface {
	Seal(secret, bound []byte) []byte
	Open(sealed, bound []byte) (secret []byte, err error)
}

// serveRepeats is a server whose handler writes one row for each run, and commits it with its response.
func serveRepeats(t testing.TB, j repeatJob, guardTimeout time.Duration) http.Handler {
	db, store := j.open(t)
	kept := must(store.Idempotency())(t)
	keys := idempotency.New(stepping{kept}, idempotency.Options{Sealer: kept.(sealing), Lease: repeatLease})
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	guard := &auth.Guard{BaseURL: "https://api.example.com", Directory: directory, Roles: auth.RolesDoNotLimit, Timeout: guardTimeout,
		Mechanisms: []auth.Mechanism{authtest.As(auth.Principal{Account: "ann", Scope: scope.Unscoped()})}}
	mux := guard.Mux()
	mux.Handle("POST /payments", auth.Authenticated, keys.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The lease ends this context, too. Here only the fence is to count.
		r = r.WithContext(context.WithoutCancel(r.Context()))
		interrupt(r.Context())
		id := rand.Text()
		err := func() error {
			tx, err := db.Begin()
			if err != nil {
				return auth.Unavailable(err)
			}
			defer tx.Rollback()
			if _, err := tx.Exec("INSERT INTO "+j.Effects+" (id, request) VALUES ($1, $2)", id, r.Header.Get("Idempotency-Key")); err != nil {
				return auth.Unavailable(err)
			}
			interrupt(r.Context())
			return idempotency.Commit(w, r, steppingTx{tx, r.Context()}, func(w http.ResponseWriter) { fmt.Fprint(w, "payment ", id) })
		}()
		interrupt(r.Context())
		if err != nil {
			auth.Fail(w, r, err)
		}
	})))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := new(steps)
		name, left, _ := strings.Cut(r.Header.Get("Signal"), " ")
		n, _ := strconv.ParseInt(left, 10, 64)
		s.left.Store(n)
		if s.signal = syscall.SIGKILL; name == "stop" {
			s.signal = syscall.SIGSTOP
		}
		mux.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), stepsKey{}, s)))
	})
}

// TestRepeatProcess is one of the processes.
func TestRepeatProcess(t *testing.T) {
	text := os.Getenv("ENGINETEST_REPEATS")
	if text == "" {
		t.Skip("not one of the processes")
	}
	var j repeatJob
	expect(t, "Unmarshal", json.Unmarshal([]byte(text), &j), nil)
	listener := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	h := serveRepeats(t, j, 5*time.Second)
	fmt.Println("LISTENING", listener.Addr())
	go func() {
		io.Copy(io.Discard, os.Stdin) // ends with the test
		os.Exit(0)
	}()
	http.Serve(listener, h)
}

// repeatFleet is three processes, which are started again when they have ended.
type repeatFleet struct {
	at   [3]atomic.Pointer[string]
	pid  [3]atomic.Int64
	died atomic.Int64
}

func startRepeats(t *testing.T, j repeatJob) *repeatFleet {
	t.Helper()
	f := new(repeatFleet)
	text := string(must(json.Marshal(j))(t))
	ctx, cancel := context.WithCancel(context.Background())
	var all, ready sync.WaitGroup
	for i := range f.at {
		ready.Add(1)
		all.Go(func() {
			for first := true; ctx.Err() == nil; first = false {
				cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestRepeatProcess$")
				cmd.Env = append(os.Environ(), "ENGINETEST_REPEATS="+text)
				in, _ := cmd.StdinPipe()
				out, err := cmd.StdoutPipe()
				if err == nil {
					err = cmd.Start()
				}
				if err != nil {
					t.Error(err)
					break
				}
				for lines := bufio.NewScanner(out); lines.Scan(); {
					if at, ok := strings.CutPrefix(lines.Text(), "LISTENING "); ok {
						f.pid[i].Store(int64(cmd.Process.Pid))
						f.at[i].Store(&at)
						break
					}
				}
				if first {
					ready.Done()
				}
				io.Copy(io.Discard, out)
				cmd.Wait()
				in.Close()
				f.died.Add(1)
			}
		})
	}
	ready.Wait()
	t.Cleanup(func() { cancel(); all.Wait() })
	return f
}

// pay sends one attempt to a process. It returns what was answered, and the status, or 0 for no answer.
func (f *repeatFleet) pay(i int, key, signal string) (string, int) {
	at := f.at[i].Load()
	if at == nil {
		return "", 0
	}
	r, _ := http.NewRequest("POST", "http://"+*at+"/acme/v2/payments", nil)
	r.Header.Set("Idempotency-Key", key)
	r.Header.Set("Signal", signal)
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}).Do(r)
	if err != nil {
		return "", 0
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return "", 0
	}
	return string(body), res.StatusCode
}

// TestR05KilledBetweenRowsAndResponse has 8 clients that repeat one request at 3 processes until they have
// an answer. The processes that execute their first attempts are killed at one step of the request. With
// LONG=1 there are many more rounds.
func TestR05KilledBetweenRowsAndResponse(t *testing.T) {
	t.Parallel()
	rounds := requestSteps
	if os.Getenv("LONG") == "1" {
		rounds = 300 * requestSteps
	}
	for name, j := range repeatJobs(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, _ := j.open(t)
			f := startRepeats(t, j)
			for round := range rounds {
				key := fmt.Sprint("request-", round)
				signal := fmt.Sprint("kill ", 1+round%requestSteps)
				var answers [8]string
				var clients sync.WaitGroup
				for c := range answers {
					clients.Go(func() {
						signal := signal
						for ends := time.Now().Add(30 * time.Second); time.Now().Before(ends); time.Sleep(10 * time.Millisecond) {
							body, status := f.pay((c+mathrand.IntN(3))%3, key, signal)
							if status == http.StatusOK {
								answers[c] = body
								return
							}
							if status != 0 && status != 409 && status != 503 {
								t.Errorf("step %s: status %d %s", signal, status, body)
							}
							signal = ""
						}
					})
				}
				clients.Wait()
				var id string
				var effects int
				if err := db.QueryRow("SELECT coalesce(min(id), ''), count(*) FROM "+j.Effects+" WHERE request = $1", key).Scan(&id, &effects); err != nil {
					t.Fatal(err)
				}
				if effects != 1 {
					t.Fatalf("%s: %d effects", signal, effects)
				}
				for c, answer := range answers {
					if answer != "payment "+id {
						t.Fatalf("%s: client %d has %q, and the row is %s", signal, c, answer, id)
					}
				}
			}
			if died := f.died.Load(); died < int64(rounds)/2 {
				t.Errorf("only %d processes were killed in %d rounds", died, rounds)
			}
			j.holdsNo(t, db, "payment ", "request-")
		})
	}
}

// holdsNo looks for texts in all columns of the entries.
func (j repeatJob) holdsNo(t *testing.T, db *sql.DB, texts ...string) {
	t.Helper()
	rows, err := db.Query("SELECT id, org, caller, fence, sealed FROM " + strings.TrimSuffix(j.Effects, "effects") + "repeats")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	n := 0
	for rows.Next() {
		var id, sealed []byte
		var org, caller, fence string
		if err := rows.Scan(&id, &org, &caller, &fence, &sealed); err != nil {
			t.Fatal(err)
		}
		n++
		for _, text := range texts {
			if strings.Contains(string(id)+org+caller+fence+string(sealed), text) {
				t.Errorf("an entry has %q in the clear", text)
			}
		}
	}
	if n == 0 {
		t.Error("no entries")
	}
}

// TestR06FrozenPastItsLease stops a process at a step until another one has executed the request, or has
// waited for it. Then it goes on.
func TestR06FrozenPastItsLease(t *testing.T) {
	t.Parallel()
	for name, j := range repeatJobs(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, _ := j.open(t)
			f := startRepeats(t, j)
			overtaken := 0
			for at := 1; at <= requestSteps; at++ {
				if j.Dialect == sqlstore.SQLite && 4 <= at && at <= 7 {
					continue // it holds the lock of the whole database, so that nobody overtakes it
				}
				key := fmt.Sprint("frozen-", at)
				late := make(chan [2]string, 1)
				go func() {
					body, status := f.pay(0, key, fmt.Sprint("stop ", at))
					late <- [2]string{body, strconv.Itoa(status)}
				}()
				stopped := until(func() bool { // a system other than Linux does not tell
					state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", f.pid[0].Load()))
					return err != nil || bytes.Contains(state, []byte(") T "))
				})
				if !stopped {
					t.Errorf("step %d: nobody stops there", at)
				}
				time.Sleep(2 * repeatLease)
				first, status := f.pay(1, key, "")
				syscall.Kill(int(f.pid[0].Load()), syscall.SIGCONT)
				answer := <-late
				if status == http.StatusOK && answer[1] == "409" {
					overtaken++
				}
				again, statusAgain := f.pay(2, key, "")
				for range 100 {
					if statusAgain == http.StatusOK {
						break
					}
					time.Sleep(20 * time.Millisecond)
					again, statusAgain = f.pay(2, key, "")
				}
				var effects int
				if err := db.QueryRow("SELECT count(*) FROM "+j.Effects+" WHERE request = $1", key).Scan(&effects); err != nil || effects != 1 {
					t.Errorf("step %d: %d effects, %v", at, effects, err)
				}
				for _, other := range []string{first, answer[0]} {
					if strings.HasPrefix(other, "payment") && other != again {
						t.Errorf("step %d: answers %q, %q and %q", at, first, answer[0], again)
					}
				}
			}
			if overtaken < 2 {
				t.Errorf("%d attempts were overtaken and refused", overtaken)
			}
		})
	}
}

func repeatOf(org auth.OrgKey, caller string) idempotency.Entry {
	e := idempotency.Entry{Org: org, Caller: caller, Fence: rand.Text(), Sealed: []byte("sealed")}
	rand.Read(e.ID[:])
	return e
}

// TestR08KeysEndWithTheirAccountAndOrg ends accounts and orgs in each engine: who gets their ID later
// finds no response. RevokeAccount leaves them.
func TestR08KeysEndWithTheirAccountAndOrg(t *testing.T) {
	leftToTheGate(t)
	t.Parallel()
	o := idempotency.Options{Keep: time.Hour, Lease: time.Hour, MaxBytes: 1 << 30} // no attempt is overtaken, however slow the machine is
	run := func(t *testing.T, s whole, entries idempotency.Store, deleteAccount func(context.Context, auth.OrgKey, string) error) {
		ctx := t.Context()
		ann, bob, other := repeatOf("acme", "ann"), repeatOf("acme", "bob"), repeatOf("globex", "ann")
		has := func(what string, e idempotency.Entry, want bool) {
			t.Helper()
			again := e
			again.Fence = rand.Text()
			held := must(entries.Begin(ctx, again, o))(t)
			if got := held.Fence != again.Fence; got != want {
				t.Errorf("%s: %s of %s is there: %v, want %v", what, e.Caller, e.Org, got, want)
			}
		}
		for _, e := range []idempotency.Entry{ann, bob, other} {
			must(entries.Begin(ctx, e, o))(t)
		}
		expect(t, "End", entries.End(ctx, ann), nil)
		expect(t, "RevokeAccount", s.RevokeAccount(ctx, "acme", "ann"), nil)
		has("RevokeAccount", ann, true)
		if deleteAccount != nil {
			expect(t, "DeleteAccount", deleteAccount(ctx, "acme", "ann"), nil)
			has("DeleteAccount", ann, false)
			has("DeleteAccount", bob, true)
			has("DeleteAccount", other, true)
		}
		for i := range 1500 { // more than a batch, of one caller and of several
			must(entries.Begin(ctx, repeatOf("acme", "caller"+strconv.Itoa(i/1200)), o))(t)
		}
		expect(t, "DeleteOrg", s.DeleteOrg(ctx, "acme"), nil)
		has("DeleteOrg", bob, false)
		has("DeleteOrg", other, true)
	}
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			s := h.store(t)
			run(t, s, must(s.Idempotency())(t), s.DeleteAccount)
		})
	}
	t.Run("Redis", func(t *testing.T) {
		server := startRedis(t)
		s := server.open(t)
		run(t, s, s.Idempotency(), nil)
		expect(t, "DeleteOrg", s.DeleteOrg(t.Context(), "acme"), nil)
		expect(t, "DeleteOrg", s.DeleteOrg(t.Context(), "globex"), nil)
		if left := server.keys(t); len(left) != 0 {
			t.Errorf("%q are left", left)
		}
		brief := o
		brief.Keep, brief.Lease = 100*time.Millisecond, 50*time.Millisecond
		must(s.Idempotency().Begin(t.Context(), repeatOf("acme", "ann"), brief))(t)
		time.Sleep(200 * time.Millisecond)
		if left := server.keys(t); len(left) != 0 {
			t.Errorf("%q do not expire", left)
		}
	})
}

func TestKeysAreSweptAndExported(t *testing.T) {
	t.Parallel()
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			db := h.open(t)
			s := h.storeIn(t, db)
			o := idempotency.Options{Keep: time.Hour, Lease: time.Minute, MaxBytes: 1 << 30}
			done := repeatOf("acme", "ann")
			for _, e := range []idempotency.Entry{done, repeatOf("acme", "bob"), repeatOf("globex", "ann")} {
				must(must(s.Idempotency())(t).Begin(t.Context(), e, o))(t)
			}
			expect(t, "End", must(s.Idempotency())(t).End(t.Context(), done), nil)
			var out strings.Builder
			expect(t, "ExportAccount", s.ExportAccount(t.Context(), &out, "acme", "ann"), nil)
			if text := out.String(); !strings.HasPrefix(text, `{"bytes":6,"done":true,"expires":"20`) || !strings.Contains(text, `"kind":"idempotencyKey"`) || strings.Count(text, "\n") != 1 {
				t.Errorf("exported %s", text)
			}
			o.Keep, o.Lease = 2*time.Millisecond, time.Millisecond
			for range 3 {
				must(must(s.Idempotency())(t).Begin(t.Context(), repeatOf("acme", "ann"), o))(t)
			}
			time.Sleep(10 * time.Millisecond)
			expect(t, "Sweep", s.Sweep(t.Context()), nil)
			if n := h.held(t, db, "repeats"); n != 3 {
				t.Errorf("%d rows are left, want 3", n)
			}
		})
	}
}

// TestRepeatsThatCannotBeStored has an org and a caller that no column can hold.
func TestRepeatsThatCannotBeStored(t *testing.T) {
	t.Parallel()
	for _, h := range homes(t) {
		repeats := must(h.store(t).Idempotency())(t)
		for _, e := range []idempotency.Entry{{Org: "acme\x00", Caller: "ann"}, {Org: "acme", Caller: "ann\xff"}} {
			e.Fence = "fence"
			if _, err := repeats.Begin(t.Context(), e, idempotency.Options{}); err == nil || !strings.Contains(err.Error(), "UTF-8") {
				t.Errorf("%s: Begin of %q by %q = %v", h.name, e.Org, e.Caller, err)
			}
		}
	}
}

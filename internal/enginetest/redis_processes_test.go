package enginetest

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

const (
	processes = 3
	parallel  = 8 // goroutines of each process

	manyRequests = 1000
	manyUses     = 200
	mostTokens   = 10
	freeTries    = 5
)

// job is what several processes do at the same time.
type job struct {
	Addr   string
	Signed time.Time
}

// done is the report of a process.
type done struct {
	Accepted []int // how often each request was accepted
	Siblings int   // accepted siblings of one signature
	Spent    int
	Issued   int
	Tries    int // admitted tries
	Errors   []string
}

// TestProcessesShareRedis runs the same job in three processes at the same time.
func TestProcessesShareRedis(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	stores := storesAt(t, s.addr())
	expect(t, "issue", stores.ledger.Issue(t.Context(), tokenOf("limited", manyUses), nil, mostTokens), nil)
	all := runProcesses(t, job{s.addr(), time.Now()})

	sum := done{Accepted: make([]int, manyRequests)}
	for _, d := range all {
		for i, n := range d.Accepted {
			sum.Accepted[i] += n
		}
		sum.Siblings += d.Siblings
		sum.Spent += d.Spent
		sum.Issued += d.Issued
		sum.Tries += d.Tries
		for _, err := range d.Errors {
			t.Error(err)
		}
	}
	for i, n := range sum.Accepted {
		if n != 1 {
			t.Errorf("N02 request %d was accepted %d times, want once", i, n)
		}
	}
	for _, c := range []struct {
		what      string
		got, want int
	}{
		{"S14 siblings accepted", sum.Siblings, 8},
		{"T19 uses spent", sum.Spent, manyUses},
		{"T21 tokens issued", sum.Issued, mostTokens},
		{"F08 tries that went ahead", sum.Tries, freeTries},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, want %d", c.what, c.got, c.want)
		}
	}
	list, err := stores.sessions.List(t.Context(), "acme", "ann")
	if err != nil || len(list) != 1 {
		t.Errorf("%d sessions where one is allowed: %v", len(list), err)
	}
}

// runProcesses starts this test binary several times, as TestRedisProcess.
func runProcesses(t *testing.T, j job) []done {
	t.Helper()
	text, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	all := make([]done, processes)
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRedisProcess$")
			file := t.TempDir() + "/done"
			cmd.Env = append(os.Environ(), "ENGINETEST_JOB="+string(text), "ENGINETEST_DONE="+file)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("process %d: %v\n%s", i, err, out)
				return
			}
			report, err := os.ReadFile(file)
			if err == nil {
				err = json.Unmarshal(report, &all[i])
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	return all
}

// TestRedisProcess is one of the processes.
func TestRedisProcess(t *testing.T) {
	text := os.Getenv("ENGINETEST_JOB")
	if text == "" {
		t.Skip("not one of several processes")
	}
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		t.Fatal(err)
	}
	report, err := json.Marshal(j.work(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(os.Getenv("ENGINETEST_DONE"), report, 0o600); err != nil {
		t.Fatal(err)
	}
}

// work does each part in parallel goroutines.
func (j job) work(t *testing.T) done {
	stores := storesAt(t, j.Addr)
	d := done{Accepted: make([]int, manyRequests)}
	var mu sync.Mutex
	// count adds one if err is nil. Any other err must be a refusal.
	count := func(err error, n *int, refusals ...error) {
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			*n++
			return
		}
		for _, refusal := range refusals {
			if errors.Is(err, refusal) {
				return
			}
		}
		d.Errors = append(d.Errors, err.Error())
	}
	j.awaitOthers(t)
	var wg sync.WaitGroup
	for range parallel {
		wg.Go(func() {
			for i := range uint64(manyRequests) {
				u := useAt(j.Signed, "key", i)
				count(stores.replays.Claim(t.Context(), u), &d.Accepted[i], signing.ErrReplayed)
			}
		})
		wg.Go(func() {
			for range 10 * manyUses / processes / parallel {
				count(spend(t.Context(), stores.ledger, tokenOf("limited", manyUses)), &d.Spent, token.ErrExhausted)
			}
		})
		wg.Go(func() {
			u := useAt(j.Signed, "key", manyRequests)
			u.Siblings, u.Window = 8, time.Minute
			for range 20 {
				u.Nonce = rand.Text()[:16]
				count(stores.replays.Claim(t.Context(), u), &d.Siblings, signing.ErrReplayed)
				r := tokenOf(rand.Text(), 0)
				r.Subject = "bob"
				count(stores.ledger.Issue(t.Context(), r, nil, mostTokens), &d.Issued, token.ErrTooMany)
				n, err := countUp(t.Context(), stores.attempts, "key")
				if err == nil && n > freeTries {
					err = session.ErrEvicted // stands for a refusal
				}
				count(err, &d.Tries, session.ErrEvicted)
				var created int
				count(stores.sessions.Create(t.Context(), sessionOf(rand.Text()), 1), &created)
			}
		})
	}
	wg.Wait()
	return d
}

// awaitOthers returns when all processes have reached this step.
func (j job) awaitOthers(t *testing.T) {
	t.Helper()
	do := dial(t, j.Addr)
	there, err := do(t.Context(), "INCR", "processes")
	if !until(func() bool {
		if err == nil && there.(int64) < processes {
			there, err = do(t.Context(), "INCRBY", "processes", "0")
		}
		return err != nil || there.(int64) == processes
	}) || err != nil {
		t.Fatalf("%v of %d processes have come: %v", there, processes, err)
	}
}

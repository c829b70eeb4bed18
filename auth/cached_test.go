package auth_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
)

// lookups are the four kinds of look-ups. Each returns a text that changes with its record.
var lookups = map[string]func(context.Context, auth.Directory, string) (string, error){
	"the org": func(ctx context.Context, d auth.Directory, org string) (string, error) {
		o, err := d.Org(ctx, org)
		return o.Session.Idle.String(), err
	},
	"an app": func(ctx context.Context, d auth.Directory, org string) (string, error) {
		a, err := d.App(ctx, org+"key")
		return a.Name, err
	},
	"an account": func(ctx context.Context, d auth.Directory, org string) (string, error) {
		a, err := d.Account(ctx, auth.OrgKey(org), "ann")
		return a.Roles[0], err
	},
	"a list of roles": func(ctx context.Context, d auth.Directory, org string) (string, error) {
		roles, err := d.Roles(ctx, auth.OrgKey(org), []string{"none", "reader"})
		return roles[0].Scope[0], err
	},
}

// versioned stores the n-th version of an org and of all its records.
func versioned(m *auth.Memory, org string, n int) {
	m.PutOrg(auth.Org{Code: org, Session: auth.SessionPolicy{Idle: time.Duration(n)}})
	m.PutApp(auth.App{ClientKey: org + "key", Org: auth.OrgKey(org), Name: strconv.Itoa(n)})
	m.PutAccount(auth.Account{ID: "ann", Org: auth.OrgKey(org), Roles: []string{strconv.Itoa(n)}})
	m.PutRole(auth.OrgKey(org), auth.Role{Name: "reader", Scope: []string{strconv.Itoa(n)}})
}

// see looks up every record.
func see(t *testing.T, d auth.Directory, org string) map[string]string {
	t.Helper()
	seen := make(map[string]string)
	for kind, look := range lookups {
		var err error
		if seen[kind], err = look(t.Context(), d, org); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
	}
	return seen
}

func TestInvalidateForgetsAnOrg(t *testing.T) {
	memory := new(auth.Memory)
	d := auth.Cached(memory, time.Hour)
	was := make(map[string]map[string]string)
	for _, org := range []string{"acme", "globex"} {
		versioned(memory, org, 1)
		was[org] = see(t, d, org)
		versioned(memory, org, 2)
	}
	if diff := cmp.Diff(was["acme"], see(t, d, "acme")); diff != "" {
		t.Fatalf("not answered from memory:\n%s", diff)
	}
	d.Invalidate("acme")
	for kind, now := range see(t, d, "acme") {
		if now == was["acme"][kind] {
			t.Errorf("%s is what it was", kind)
		}
	}
	if diff := cmp.Diff(was["globex"], see(t, d, "globex")); diff != "" {
		t.Errorf("another org was forgotten, too:\n%s", diff)
	}
	d.Invalidate("nobody's") // forgetting an unknown org also works
}

// blocking returns what it has read only when the test releases it.
type blocking struct {
	auth.Directory
	released chan struct{}
}

func (b *blocking) Org(ctx context.Context, code string) (*auth.Org, error) {
	o, err := b.Directory.Org(ctx, code)
	<-b.released
	return o, err
}

func (b *blocking) App(ctx context.Context, clientKey string) (*auth.App, error) {
	a, err := b.Directory.App(ctx, clientKey)
	<-b.released
	return a, err
}

func (b *blocking) Account(ctx context.Context, org auth.OrgKey, id string) (*auth.Account, error) {
	a, err := b.Directory.Account(ctx, org, id)
	<-b.released
	return a, err
}

func (b *blocking) Roles(ctx context.Context, org auth.OrgKey, names []string) ([]auth.Role, error) {
	roles, err := b.Directory.Roles(ctx, org, names)
	<-b.released
	return roles, err
}

// A look-up may read the record before the change and return after Invalidate. Its old result
// must not be cached again.
func TestInvalidateOutrunsLookupsUnderWay(t *testing.T) {
	for kind, look := range lookups {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				memory := new(auth.Memory)
				versioned(memory, "acme", 1)
				slow := &blocking{memory, make(chan struct{})}
				d := auth.Cached(slow, time.Hour)
				var before string
				go func() { before, _ = look(t.Context(), d, "acme") }()
				synctest.Wait() // it has read, and waits
				versioned(memory, "acme", 2)
				d.Invalidate("acme")
				close(slow.released)
				synctest.Wait()
				for range 2 {
					if now, err := look(t.Context(), d, "acme"); now == before || err != nil {
						t.Errorf("answered %q, as before the change; %v", now, err)
					}
				}
			})
		})
	}
}

// The records of other orgs stay cached, even if one tenant writes all the time.
func TestInvalidateLeavesLookupsOfOthers(t *testing.T) {
	for kind, look := range lookups {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				memory := new(auth.Memory)
				versioned(memory, "globex", 1)
				slow := &blocking{memory, make(chan struct{})}
				d := auth.Cached(slow, time.Hour)
				var found string
				go func() { found, _ = look(t.Context(), d, "globex") }()
				synctest.Wait() // it has read, and waits
				d.Invalidate("acme")
				close(slow.released)
				synctest.Wait()
				versioned(memory, "globex", 2)
				if again, err := look(t.Context(), d, "globex"); again != found || err != nil {
					t.Errorf("answered %q, and was not kept; %v", again, err)
				}
			})
		})
	}
}

// The rule also holds if there are too many orgs to record which one was forgotten.
func TestInvalidateAmongManyOutrunsLookupsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := new(auth.Memory)
		versioned(memory, "acme", 1)
		slow := &blocking{memory, make(chan struct{})}
		d := auth.CachedOf(slow, time.Hour, 4)
		var before *auth.Account
		go func() { before, _ = d.Account(t.Context(), "acme", "ann") }()
		synctest.Wait() // it has read, and waits
		versioned(memory, "acme", 2)
		d.Invalidate("acme")
		for i := range 4 {
			d.Invalidate(auth.OrgKey(strconv.Itoa(i)))
		}
		close(slow.released)
		now, err := d.Account(t.Context(), "acme", "ann")
		synctest.Wait() // the former one returns last
		again, _ := d.Account(t.Context(), "acme", "ann")
		if err != nil || before.Roles[0] != "1" || now.Roles[0] != "2" || again.Roles[0] != "2" {
			t.Errorf("%v, then %v, then %v; %v", before, now, again, err)
		}
	})
}

// The caller of Invalidate sees the change, however many look-ups are running.
func TestInvalidateUnderLoad(t *testing.T) {
	memory := new(auth.Memory)
	versioned(memory, "acme", 0)
	d := auth.Cached(memory, time.Hour)
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					d.Account(context.Background(), "acme", "ann")
				}
			}
		})
	}
	for n := range 2000 {
		memory.PutAccount(auth.Account{ID: "ann", Org: "acme", Roles: []string{strconv.Itoa(n)}})
		d.Invalidate("acme")
		if a, err := d.Account(t.Context(), "acme", "ann"); err != nil || a.Roles[0] != strconv.Itoa(n) {
			t.Fatalf("the %dth change: %v, %v", n, a, err)
		}
	}
	close(done)
	readers.Wait()
}

func TestCachedGoesByItsClock(t *testing.T) {
	c := &counting{Directory: directory()}
	d := auth.Cached(c, -1) // as 0, 0
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	d.Now = func() time.Time { return now }
	for _, test := range []struct {
		name  string
		after time.Duration
		asked int64
	}{
		{"at first", 0, 1},
		{"within the staleness", 2*time.Second - 1, 1},
		{"after it", 1, 2},
		{"set back", -time.Hour, 3},
	} {
		now = now.Add(test.after)
		if _, err := d.Org(t.Context(), "acme"); err != nil || c.asked.Load() != test.asked {
			t.Errorf("%s: asked %d times, want %d; %v", test.name, c.asked.Load(), test.asked, err)
		}
	}
}

// Each org can still be forgotten if there are more orgs than the cache counts one by one.
func TestInvalidateAmongManyOrgs(t *testing.T) {
	memory := new(auth.Memory)
	d := auth.CachedOf(memory, time.Hour, 10)
	for i := range 100 {
		org := "o" + strconv.Itoa(i)
		versioned(memory, org, 1)
		was := see(t, d, org)
		versioned(memory, org, 2)
		d.Invalidate(auth.OrgKey(org))
		for kind, now := range see(t, d, org) {
			if now == was[kind] {
				t.Errorf("%s of %s is what it was", kind, org)
			}
		}
	}
}

func TestCachedHitsAllocateNothing(t *testing.T) {
	d := auth.Cached(directory(), time.Hour)
	ctx := t.Context()
	gone := []string{"of an account", "but of no role"}
	hits := map[string]func(){
		"an org":     func() { d.Org(ctx, "acme") },
		"an app":     func() { d.App(ctx, "acmekey") },
		"an account": func() { d.Account(ctx, "acme", "ann") },
		"no role":    func() { d.Roles(ctx, "acme", gone) },
	}
	for kind, hit := range hits {
		if n := testing.AllocsPerRun(100, hit); n != 0 {
			t.Errorf("%s: %v allocations", kind, n)
		}
	}
}

// Accounts with the same roles in other orders must not each hold all chains again. The roles of
// a Directory in a database are new values with each look-up.
func TestK39RolesInOtherOrdersTakeNoMemory(t *testing.T) {
	d := auth.Cached(fresh{}, time.Hour)
	names := make([]string, 50)
	for i := range names {
		names[i] = "r" + strconv.Itoa(i)
	}
	before := heapBytes()
	for i := range 50 {
		names[0], names[i] = names[i], names[0]
		roles, err := d.Roles(t.Context(), "acme", names)
		if err != nil || len(roles) != 50 {
			t.Fatal(len(roles), err)
		}
	}
	if held := (heapBytes() - before) >> 20; held > 8 {
		t.Errorf("50 orders of 50 roles hold %d MiB", held)
	}
	runtime.KeepAlive(d)
}

// An org that has more or larger roles than its share evicts its own.
func TestK40LargeRolesOfOneOrgStayWithinItsShare(t *testing.T) {
	d := auth.Cached(fresh{}, time.Hour)
	if _, err := d.Roles(t.Context(), "globex", []string{"reader"}); err != nil {
		t.Fatal(err)
	}
	before := heapBytes()
	for i := range 300 {
		if _, err := d.Roles(t.Context(), "acme", []string{"r" + strconv.Itoa(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if held := (heapBytes() - before) >> 20; held > 16 {
		t.Errorf("300 roles of 90 KB hold %d MiB", held)
	}
	asked.Store(0)
	if _, err := d.Roles(t.Context(), "globex", []string{"reader"}); err != nil || asked.Load() != 0 {
		t.Errorf("the role of another org was looked up again: %v", err)
	}
}

// fresh is a Directory that finds each role, with 990 chains of 90 bytes, and each org.
type fresh struct{ auth.Directory }

var asked atomic.Int64

func (fresh) Roles(_ context.Context, _ auth.OrgKey, names []string) (roles []auth.Role, err error) {
	asked.Add(1)
	for _, name := range names {
		r := auth.Role{Name: name}
		for i := range 990 {
			r.Scope = append(r.Scope, "object.read.c_note."+strings.Repeat("x", 64)+strconv.Itoa(i))
		}
		roles = append(roles, r)
	}
	return roles, nil
}

func (fresh) Org(_ context.Context, code string) (*auth.Org, error) {
	return &auth.Org{Code: strings.Clone(code)}, nil
}

func heapBytes() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// The code of an org is a part of the request's line, which can be a megabyte.
func TestK41ALongRequestLineIsNotKept(t *testing.T) {
	d := auth.Cached(fresh{}, time.Hour)
	g := guard()
	g.Directory = d
	mux := g.Mux()
	mux.Handle("GET /{path...}", auth.Public, whoami)
	before := heapBytes()
	for i := range 50 {
		do(mux, "GET", "/org"+strconv.Itoa(i)+"/v2/"+strings.Repeat("a", 1<<20))
	}
	if held := (heapBytes() - before) >> 20; held > 4 {
		t.Errorf("50 requests hold %d MiB", held)
	}
	runtime.KeepAlive(d)
}

// A name that no role has is remembered, too, until Invalidate.
func TestUnknownRolesAreRemembered(t *testing.T) {
	memory := new(auth.Memory)
	c := &counting{Directory: memory}
	d := auth.Cached(c, time.Hour)
	memory.PutRole("acme", auth.Role{Name: "reader"})
	for range 3 {
		if roles, err := d.Roles(t.Context(), "acme", []string{"writer", "reader"}); err != nil || len(roles) != 1 {
			t.Fatal(roles, err)
		}
	}
	if n := c.asked.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
	memory.PutRole("acme", auth.Role{Name: "writer"})
	d.Invalidate("acme")
	if roles, err := d.Roles(t.Context(), "acme", []string{"writer", "reader"}); err != nil || len(roles) != 2 {
		t.Error(roles, err)
	}
}

func BenchmarkCached(b *testing.B) {
	d := auth.Cached(directory(), time.Hour)
	names := []string{"member"}
	for kind, hit := range map[string]func(context.Context){
		"Account": func(ctx context.Context) { d.Account(ctx, "acme", "ann") },
		"Roles":   func(ctx context.Context) { d.Roles(ctx, "acme", names) },
	} {
		b.Run(kind, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				hit(b.Context())
			}
		})
	}
	for kind, accounts := range map[string]int{"inside its limit": 10_000, "past its limit": 20_000} {
		b.Run(kind, func(b *testing.B) { benchmarkAccounts(b, accounts) })
	}
	b.Run("Invalidate", func(b *testing.B) {
		memory := new(auth.Memory)
		full := auth.Cached(memory, time.Hour)
		for i := range 10_000 {
			org := "o" + strconv.Itoa(i)
			versioned(memory, org, i)
			for _, look := range lookups {
				look(b.Context(), full, org)
			}
		}
		for b.Loop() {
			full.Org(b.Context(), "o1")
			full.Invalidate("o1")
		}
	})
}

// benchmarkAccounts gets that many accounts in turn from a cache of 10,000, in several
// goroutines.
func benchmarkAccounts(b *testing.B, accounts int) {
	memory := new(auth.Memory)
	ids := make([]string, accounts)
	for i := range ids {
		ids[i] = "account-" + strconv.Itoa(i)
		memory.PutAccount(auth.Account{ID: ids[i], Org: "acme"})
	}
	d := auth.Cached(memory, time.Hour)
	for _, id := range ids {
		d.Account(b.Context(), "acme", id)
	}
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(p *testing.PB) {
		for i := rand.IntN(accounts); p.Next(); i++ {
			if _, err := d.Account(b.Context(), "acme", ids[i%accounts]); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

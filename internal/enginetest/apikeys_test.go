package enginetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/apikey"
	"github.com/tenantkit/tenantkit/auth/redisstore"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
)

var keysCreated = time.Now().UTC().Truncate(time.Millisecond)

// apiKeyOf returns the record of a key without a limit.
func apiKeyOf(org auth.OrgKey, account string) apikey.Record {
	return apikey.Record{Grant: apikey.Grant{Prefix: "acme", Account: account}, ID: "of " + account + " in " + string(org), Hash: [32]byte{1}, Org: org,
		Maker: account, Created: keysCreated}
}

// TestAPIKeysEndWithTheirAccountAndOrg ends accounts and orgs in each engine. Keys of others stay, those that
// the account made for them too.
func TestAPIKeysEndWithTheirAccountAndOrg(t *testing.T) {
	leftToTheGate(t)
	t.Parallel()
	run := func(t *testing.T, s whole, keys apikey.Store, deleteAccount func(context.Context, auth.OrgKey, string) error) {
		ctx := t.Context()
		there := func(what string, want ...string) {
			t.Helper()
			for _, org := range []auth.OrgKey{"acme", "globex"} {
				var ids []string
				for r, err := range apikey.Records(ctx, keys, apikey.Of{Org: org}) {
					expect(t, "Records", err, nil)
					ids = append(ids, r.ID+" by "+r.Maker)
				}
				if got := strings.Join(ids, ", "); got != want[0] {
					t.Errorf("%s: %s has %q, want %q", what, org, got, want[0])
				}
				want = want[1:]
			}
		}
		add := func(org auth.OrgKey, account, app string) {
			r := apiKeyOf(org, account)
			r.App, r.Maker = app, "ann"
			expect(t, "Add", keys.Add(ctx, r, 10), nil)
		}
		add("acme", "ann", "one")
		add("acme", "bob", "two")
		add("globex", "ann", "")
		expect(t, "nobody", s.RevokeAccount(ctx, "acme", "an"), nil)
		there("before", "of ann in acme by ann, of bob in acme by ann", "of ann in globex by ann")
		for range 2 {
			expect(t, "RevokeAccount", s.RevokeAccount(ctx, "acme", "ann"), nil)
		}
		there("RevokeAccount", "of bob in acme by ann", "of ann in globex by ann")
		expect(t, "Use", keys.Use(ctx, "of ann in acme", time.Now(), netip.Prefix{}), auth.ErrNotFound)
		if deleteAccount != nil {
			add("acme", "ann", "one")
			expect(t, "DeleteAccount", deleteAccount(ctx, "acme", "ann"), nil)
			there("DeleteAccount", "of bob in acme by ", "of ann in globex by ann")
		}
		for i := range 1500 { // more than a batch
			r := apiKeyOf("acme", fmt.Sprint("account ", i))
			expect(t, "Add", keys.Add(ctx, r, 1), nil)
		}
		expect(t, "DeleteOrg", s.DeleteOrg(ctx, "acme"), nil)
		there("DeleteOrg", "", "of ann in globex by ann")
	}
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			s := h.store(t)
			run(t, s, s.APIKeys(), s.DeleteAccount)
		})
	}
	t.Run("Redis", func(t *testing.T) {
		server := startRedis(t)
		s := server.open(t)
		run(t, s, s.APIKeys(), nil)
		expect(t, "DeleteOrg", s.DeleteOrg(t.Context(), "globex"), nil)
		if left := server.keys(t); len(left) != 0 {
			t.Errorf("%q are left", left)
		}
	})
}

// TestAPIKeysThatCannotBeStored changes one text each. A record that is stored and not read again would
// end List of its account, and count against its limit.
func TestAPIKeysThatCannotBeStored(t *testing.T) {
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			keys, limit := h.store(t).APIKeys(), 10
			for name, set := range map[string]func(r *apikey.Record){
				"id":      func(r *apikey.Record) { r.ID = "id\x00" },
				"org":     func(r *apikey.Record) { r.Org = "acme\x00" },
				"account": func(r *apikey.Record) { r.Account = "ann\xff" },
				"app":     func(r *apikey.Record) { r.App = "app\xff" },
				"maker":   func(r *apikey.Record) { r.Maker = "\x00" },
				"name":    func(r *apikey.Record) { r.Name = "name\xff" },
			} {
				r := apiKeyOf("acme", "ann")
				set(&r)
				if err := keys.Add(t.Context(), r, limit); err == nil || !strings.Contains(err.Error(), "UTF-8") {
					t.Errorf("%s: Add = %v", name, err)
				}
			}
			r := apiKeyOf("acme", "ann")
			expect(t, "Add", keys.Add(t.Context(), r, limit), nil)
			after := r
			after.Name = "name\xff"
			if err := keys.Swap(t.Context(), r, after, nil, limit); err == nil {
				t.Error("Swap stores a name that is not UTF-8")
			}
			list, _, err := keys.List(t.Context(), apikey.Of{Org: "acme", Account: "ann"}, "", limit)
			if len(list) != 1 || err != nil {
				t.Errorf("List = %v, %v", list, err)
			}
		})
	}
}

// TestAPIKeysThatHaveEndedAreSwept has one that ends, one that does not, and one whose last use is used up.
func TestAPIKeysThatHaveEndedAreSwept(t *testing.T) {
	t.Parallel()
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			s := h.store(t)
			for account, ends := range map[string]time.Time{"never": {}, "later": time.Now().Add(time.Hour), "ended": time.Now().Add(-time.Second)} {
				r := apiKeyOf("acme", account)
				r.Expires = ends
				expect(t, "Add", s.APIKeys().Add(t.Context(), r, 10), nil)
			}
			expect(t, "Sweep", s.Sweep(t.Context()), nil)
			page, _, err := s.APIKeys().List(t.Context(), apikey.Of{Org: "acme"}, "", 10)
			if len(page) != 2 || page[0].Account != "later" || page[1].Account != "never" || err != nil {
				t.Errorf("%+v, %v", page, err)
			}
		})
	}
}

const (
	keyUses  = 200
	mostKeys = 10
)

// keyJob is what several processes do at the same time, and keyReport what they did.
type keyJob struct{ Engine, At string }

type keyReport struct {
	Used, Added, Seen int64
	Errors            []string
}

func (j keyJob) open(t *testing.T) apikey.Store {
	o := sqlstore.Options{Prefix: "keyjob_", UnsafeUnsealed: true}
	switch j.Engine {
	case "Redis":
		return openAt(t, j.At, redisstore.Options{}).APIKeys()
	case "SQLite":
		return must(sqlstore.Open(t.Context(), openSQLite(t, j.At, ""), sqlstore.SQLite, o))(t).APIKeys()
	}
	return must(sqlstore.Open(t.Context(), openDB(t, "pgx", j.At), sqlstore.PostgreSQL, o))(t).APIKeys()
}

// TestAPIKeysOfThreeProcesses counts uses, and makes keys at the limit, in three processes on each engine.
func TestAPIKeysOfThreeProcesses(t *testing.T) {
	t.Parallel()
	for engine, at := range map[string]func() string{
		"SQLite":     func() string { return filepath.Join(t.TempDir(), "store") },
		"PostgreSQL": func() string { return durablePostgres(t) },
		"Redis":      func() string { return startRedis(t).addr() },
	} {
		t.Run(engine, func(t *testing.T) {
			j := keyJob{engine, at()}
			store := j.open(t)
			limited, unlimited := apiKeyOf("acme", "limited"), apiKeyOf("acme", "unlimited")
			limited.Uses = keyUses
			for _, r := range []apikey.Record{limited, unlimited} {
				expect(t, "Add", store.Add(t.Context(), r, 1), nil)
			}
			var sum keyReport
			var mu sync.Mutex
			var all sync.WaitGroup
			text := string(must(json.Marshal(j))(t))
			for range 3 {
				all.Go(func() {
					file := filepath.Join(t.TempDir(), "report")
					cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAPIKeyProcess$")
					cmd.Env = append(os.Environ(), "ENGINETEST_KEYJOB="+text, "ENGINETEST_DONE="+file)
					if out, err := cmd.CombinedOutput(); err != nil {
						t.Errorf("%v\n%s", err, out)
						return
					}
					var r keyReport
					if err := json.Unmarshal(must(os.ReadFile(file))(t), &r); err != nil {
						t.Error(err)
					}
					mu.Lock()
					defer mu.Unlock()
					sum.Used, sum.Added, sum.Errors = sum.Used+r.Used, sum.Added+r.Added, append(sum.Errors, r.Errors...)
				})
			}
			all.Wait()
			for _, err := range sum.Errors {
				t.Error(err)
			}
			if r := must(store.Get(t.Context(), limited.ID))(t); sum.Used != keyUses || r.Used != keyUses {
				t.Errorf("%d uses were accepted, %d are recorded, want %d", sum.Used, r.Used, keyUses)
			}
			if sum.Added != mostKeys {
				t.Errorf("%d keys were made, want %d", sum.Added, mostKeys)
			}
			if r := must(store.Get(t.Context(), unlimited.ID))(t); r.Used != 0 || r.Seen.IsZero() {
				t.Errorf("a key without a limit has %d uses, seen %v", r.Used, r.Seen)
			}
		})
	}
}

// TestAPIKeyProcess is one of the processes.
func TestAPIKeyProcess(t *testing.T) {
	text := os.Getenv("ENGINETEST_KEYJOB")
	if text == "" {
		t.Skip("not one of the processes")
	}
	var j keyJob
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		t.Fatal(err)
	}
	store, ctx := j.open(t), t.Context()
	var r keyReport
	var mu sync.Mutex
	count := func(n *int64, err, refused error) {
		switch {
		case err == nil:
			atomic.AddInt64(n, 1)
		case !errors.Is(err, refused):
			mu.Lock()
			r.Errors = append(r.Errors, err.Error())
			mu.Unlock()
		}
	}
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range keyUses / 8 { // together three times as many as there are
				count(&r.Used, store.Use(ctx, apiKeyOf("acme", "limited").ID, time.Now(), netip.Prefix{}), auth.ErrNotFound)
				count(&r.Seen, store.Use(ctx, apiKeyOf("acme", "unlimited").ID, time.Now(), netip.Prefix{}), nil)
				if i%5 == 0 {
					k := apiKeyOf("acme", "made")
					k.ID = fmt.Sprint(os.Getpid(), " ", g, " ", i)
					count(&r.Added, store.Add(ctx, k, mostKeys), apikey.ErrTooMany)
				}
			}
		})
	}
	all.Wait()
	if err := os.WriteFile(os.Getenv("ENGINETEST_DONE"), must(json.Marshal(&r))(t), 0o600); err != nil {
		t.Fatal(err)
	}
}

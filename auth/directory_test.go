package auth_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
)

func TestMemoryKeepsCopies(t *testing.T) {
	d := directory()
	roles := []string{"member"}
	d.PutAccount(auth.Account{ID: "bob", Org: "acme", Roles: roles})
	chains := []string{"object.read"}
	d.PutRole("acme", auth.Role{Name: "reader", Scope: chains})
	roles[0], chains[0] = "administrator", "*"

	account, err := d.Account(t.Context(), "acme", "bob")
	if err != nil || account.Roles[0] != "member" {
		t.Errorf("account %+v, %v", account, err)
	}
	got, err := d.Roles(t.Context(), "acme", []string{"none", "reader"})
	if diff := cmp.Diff([]auth.Role{{Name: "reader", Scope: []string{"object.read"}}}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestMemoryTellsOrgsApart(t *testing.T) {
	d := directory()
	d.PutRole("globex", auth.Role{Name: "reader"})
	if _, err := d.Account(t.Context(), "globex", "ann"); !errors.Is(err, auth.ErrNotFound) {
		t.Errorf("an account of another org: %v", err)
	}
	if roles, err := d.Roles(t.Context(), "acme", []string{"reader"}); len(roles) != 0 || err != nil {
		t.Errorf("a role of another org: %v, %v", roles, err)
	}
	d.DeleteApp("acmekey")
	if _, err := d.App(t.Context(), "acmekey"); !errors.Is(err, auth.ErrNotFound) {
		t.Errorf("an app that was deleted: %v", err)
	}
}

func TestMemoryHonoursItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d := directory()
	if _, err := d.Org(ctx, "acme"); !errors.Is(err, context.Canceled) {
		t.Errorf("Org: %v", err)
	}
	if _, err := d.Roles(ctx, "acme", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Roles: %v", err)
	}
}

// counting counts look-ups, and fails them on demand.
type counting struct {
	auth.Directory
	asked atomic.Int64
	fail  error
}

func (c *counting) Org(ctx context.Context, code string) (*auth.Org, error) {
	c.asked.Add(1)
	if c.fail != nil {
		return nil, c.fail
	}
	return c.Directory.Org(ctx, code)
}

func (c *counting) Roles(ctx context.Context, org auth.OrgKey, names []string) ([]auth.Role, error) {
	c.asked.Add(1)
	return c.Directory.Roles(ctx, org, names)
}

func TestCachedIsStaleForAsLongAsItSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := directory()
		c := &counting{Directory: memory}
		d := auth.Cached(c, 0)
		closed := func() bool {
			org, err := d.Org(t.Context(), "acme")
			if err != nil {
				t.Fatal(err)
			}
			return org.Disabled
		}
		closed()
		memory.PutOrg(auth.Org{Code: "acme", Disabled: true})
		time.Sleep(2*time.Second - 1)
		if closed() || c.asked.Load() != 1 {
			t.Errorf("asked %d times within the staleness", c.asked.Load())
		}
		time.Sleep(time.Nanosecond)
		if !closed() {
			t.Error("a change was not seen after 2 s")
		}
	})
}

func TestCachedAnswersAsItsDirectory(t *testing.T) {
	d := auth.CachedOf(directory(), 0, 1)
	for range 2 {
		for clientKey, org := range map[string]string{"acmekey": "acme", "globexkey": "globex"} {
			app, err := d.App(t.Context(), clientKey)
			if err != nil || app.ClientKey != clientKey || app.Org != auth.OrgKey(org) {
				t.Errorf("app %+v, %v", app, err)
			}
		}
		if _, err := d.App(t.Context(), "nobody's"); !errors.Is(err, auth.ErrNotFound) {
			t.Errorf("an unknown app: %v", err)
		}
		account, err := d.Account(t.Context(), "acme", "ann")
		if err != nil || account.ID != "ann" {
			t.Errorf("account %+v, %v", account, err)
		}
		if _, err := d.Account(t.Context(), "globex", "ann"); !errors.Is(err, auth.ErrNotFound) {
			t.Errorf("an account of another org: %v", err)
		}
	}
}

func TestCachedCountsFromBeforeASlowLookup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := directory()
		slow := &slowDirectory{Directory: memory, delay: 1500 * time.Millisecond}
		d := auth.CachedOf(slow, 2*time.Second, 10)
		d.Org(t.Context(), "acme")
		memory.PutOrg(auth.Org{Code: "acme", Disabled: true})
		time.Sleep(600 * time.Millisecond)
		if org, _ := d.Org(t.Context(), "acme"); !org.Disabled {
			t.Error("the time of the look-up was added to the staleness")
		}
	})
}

type slowDirectory struct {
	auth.Directory
	delay time.Duration
}

func (s *slowDirectory) Org(ctx context.Context, code string) (*auth.Org, error) {
	org, err := s.Directory.Org(ctx, code)
	time.Sleep(s.delay)
	return org, err
}

func TestCachedKeepsNoFailure(t *testing.T) {
	c := &counting{Directory: directory(), fail: errors.New("down")}
	d := auth.Cached(c, time.Hour)
	if _, err := d.Org(t.Context(), "acme"); err == nil {
		t.Fatal("a failure was hidden")
	}
	c.fail = nil
	if _, err := d.Org(t.Context(), "acme"); err != nil {
		t.Errorf("a failure was kept: %v", err)
	}
	d.Org(t.Context(), "none")
	d.Org(t.Context(), "none")
	if c.asked.Load() != 4 {
		t.Error("an answer of not found was kept: strangers could fill the cache")
	}
}

func TestCachedIsBounded(t *testing.T) {
	memory := new(auth.Memory)
	for i := range 100 {
		memory.PutOrg(auth.Org{Code: fmt.Sprint("org", i)})
	}
	c := &counting{Directory: memory}
	d := auth.CachedOf(c, time.Hour, 10)
	for range 2 {
		for i := range 100 {
			if org, err := d.Org(t.Context(), fmt.Sprint("org", i)); err != nil || org.Code != fmt.Sprint("org", i) {
				t.Fatal(org, err)
			}
		}
	}
	if hits := 200 - c.asked.Load(); hits > 10 {
		t.Errorf("%d answers of a cache of 10", hits)
	}
}

func TestCachedTellsRoleListsApart(t *testing.T) {
	memory := new(auth.Memory)
	memory.PutRole("acme", auth.Role{Name: "a"})
	memory.PutRole("acme", auth.Role{Name: "b"})
	d := auth.Cached(memory, time.Hour)
	for _, test := range []struct {
		names []string
		want  int
	}{{[]string{"a", "b"}, 2}, {[]string{"a\x00b"}, 0}, {[]string{"a"}, 1}, {nil, 0}} {
		roles, err := d.Roles(t.Context(), "acme", test.names)
		if len(roles) != test.want || err != nil {
			t.Errorf("%q: %v, %v", test.names, roles, err)
		}
	}
	roles, _ := d.Roles(t.Context(), "acme", []string{"a"})
	roles[0].Name = "administrator"
	if roles, _ = d.Roles(t.Context(), "acme", []string{"a"}); roles[0].Name != "a" {
		t.Error("a caller altered what others are answered")
	}
}

func TestEffectivePolicy(t *testing.T) {
	want := auth.SessionPolicy{Idle: 30 * time.Minute, Max: 12 * time.Hour, PerAccount: 100, RememberDevice: 30 * 24 * time.Hour}
	for _, p := range []auth.SessionPolicy{{}, {Idle: -1, Max: -1, PerAccount: -1}, want} {
		if got := p.Effective(); !reflect.DeepEqual(got, want) {
			t.Errorf("%+v.Effective() = %+v", p, got)
		}
	}
	set := auth.SessionPolicy{Idle: 1, Max: 2, PerAccount: 3, SecondFactor: true, Persistent: true, RememberIdle: 4, RememberDevice: 5}
	if got := set.Effective(); !reflect.DeepEqual(got, set) {
		t.Errorf("Effective() = %+v, want %+v", got, set)
	}
	const day = 24 * time.Hour
	for _, c := range []struct {
		days, want time.Duration
		required   bool
	}{{0, 30, false}, {-1, -1, false}, {1, 1, false}, {91, 90, false}, {0, -1, true}, {7, 7, true}} {
		p := auth.SessionPolicy{RememberDevice: c.days * day, SecondFactor: c.required}.Effective()
		if got := max(p.RememberDevice, -day) / day; p.RememberDevice > 0 && got != c.want || p.RememberDevice < 0 && c.want > 0 || p.RememberDevice == 0 {
			t.Errorf("%+v: %v", c, p.RememberDevice)
		}
		if again := p.Effective(); !reflect.DeepEqual(again, p) {
			t.Errorf("again: %+v, %+v", p, again)
		}
	}
}

package bearer_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/token"
)

// asked counts the look-ups of apps and accounts.
type asked struct {
	auth.Directory
	of   map[string]int
	down bool
}

var errDown = errors.New("down")

func (a *asked) App(ctx context.Context, clientKey string) (*auth.App, error) {
	a.of[clientKey]++
	if a.down {
		return nil, errDown
	}
	return a.Directory.App(ctx, clientKey)
}

func (a *asked) Account(ctx context.Context, org auth.OrgKey, id string) (*auth.Account, error) {
	a.of[id]++
	if a.down {
		return nil, errDown
	}
	return a.Directory.Account(ctx, org, id)
}

func TestMakersAreLookedUpOnce(t *testing.T) {
	var directory *asked
	m := newMinting(t, func(w *world) {
		directory = &asked{Directory: w.guard.Directory, of: map[string]int{}}
		w.guard.Directory = directory
	})
	m.directory.PutAccount(auth.Account{ID: "later", Org: "acme", TokensFrom: noon})
	m.directory.PutAccount(auth.Account{ID: "off", Org: "acme", Disabled: true})
	clear(directory.of)
	makers := bearer.Makers{Tenant: m.tenant}
	record := func(maker, app string, issued time.Time) token.Record {
		return token.Record{ClientKey: appA, Subject: "ann", Issued: issued, Lineage: token.Lineage{Maker: maker, MakerApp: app}}
	}
	before := noon.Add(-time.Second)
	for range 3 {
		for _, c := range []struct {
			of   token.Record
			want error
		}{
			{record("", "", noon), nil},
			{record("ann", appA, noon), nil},
			{record("root", appB, noon), nil},
			{record("gone", "", noon), auth.ErrNotFound},
			{record("off", "", noon), auth.ErrNotFound},
			{record("root", "gone app", noon), auth.ErrNotFound},
			{record("later", "", noon), nil},
			{record("later", "", before), auth.ErrNotFound},
		} {
			if err := makers.Made(t.Context(), c.of); !errors.Is(err, c.want) {
				t.Errorf("%+v: %v, want %v", c.of, err, c.want)
			}
		}
	}
	if diff := cmp.Diff(map[string]int{"root": 1, appB: 1, "gone": 1, "off": 1, "gone app": 1, "later": 1, "ann": 1}, directory.of); diff != "" {
		t.Errorf("look-ups (-want +got):\n%s", diff)
	}

	directory.down = true
	if err := makers.Made(t.Context(), record("bob", "", noon)); !errors.Is(err, auth.ErrUnavailable) || errors.Is(err, auth.ErrNotFound) {
		t.Errorf("a directory without an answer: %v", err)
	}
	directory.down = false
	m.directory.PutAccount(auth.Account{ID: "bob", Org: "acme"})
	if err := makers.Made(t.Context(), record("bob", "", noon)); err != nil {
		t.Errorf("when it answers again: %v", err)
	}
	for i := range 10_001 {
		makers.Made(t.Context(), record(fmt.Sprint(i), "", noon))
	}
	if makers.Made(t.Context(), record("root", "", noon)); directory.of["root"] != 2 {
		t.Errorf("an account is kept beside 10,001 others, after %d look-ups", directory.of["root"])
	}
}

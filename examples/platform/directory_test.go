package main

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
)

func TestDirectory(t *testing.T) {
	t.Parallel()
	m := newStore(t)
	if err := errors.Join(
		putOrg(t.Context(), m.db, auth.Org{Code: "acme"}),
		putApp(t.Context(), m.db, app{App: auth.App{ClientKey: "key", Org: "acme"}}),
		m.addAccount(t.Context(), account{Account: auth.Account{ID: "ann", Org: "acme"}, Name: "Ann"}, ""),
		putRole(t.Context(), m.db, "acme", auth.Role{Name: member, Scope: []string{"object.read"}}),
	); err != nil {
		t.Fatal(err)
	}

	look := func(ctx context.Context, org auth.OrgKey, app, account string) []error {
		_, a := m.Org(ctx, string(org))
		_, b := m.App(ctx, app)
		_, c := m.Account(ctx, org, account)
		return []error{a, b, c}
	}
	for _, err := range look(t.Context(), "acme", "key", "ann") {
		if err != nil {
			t.Errorf("what is there: %v", err)
		}
	}
	for _, err := range look(t.Context(), "globex", "no", "ann") {
		if !errors.Is(err, auth.ErrNotFound) {
			t.Errorf("what is not: %v", err)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range look(gone, "acme", "key", "ann") {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("nobody waits: %v", err)
		}
	}

	roles, err := m.Roles(t.Context(), "acme", []string{"unknown", member})
	if diff := cmp.Diff([]auth.Role{{Name: member, Scope: []string{"object.read"}}}, roles); diff != "" || err != nil {
		t.Errorf("roles (-want +got):\n%s\n%v", diff, err)
	}
	if roles, err := m.Roles(t.Context(), "globex", []string{member}); len(roles) != 0 || err != nil {
		t.Errorf("roles of another org: %v %v", roles, err)
	}
	if _, err := m.Roles(gone, "acme", []string{member}); !errors.Is(err, context.Canceled) {
		t.Errorf("nobody waits for roles: %v", err)
	}
}

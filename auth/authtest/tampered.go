package authtest

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

// tampered is a directory that a suite changes. Its orgs never fail, because the Guard looks them
// up before the mechanism runs.
type tampered struct {
	auth.Directory
	org            string // the code of the Candidate's
	calls          [3]atomic.Int64
	down, hangs    atomic.Int32 // the kind of look-up, or none
	accounts, apps atomic.Int32
	roles          []string
}

// Kinds of look-ups.
const (
	apps int32 = iota
	accounts
	roles
	none
)

var kindNames = [...]string{"apps", "accounts", "roles"}

func (d *tampered) counts() (counts [3]int64) {
	for kind := range counts {
		counts[kind] = d.calls[kind].Load()
	}
	return counts
}

// States of the accounts and the apps.
const (
	asItIs int32 = iota
	disabled
	gone
	roled // with roles that all callers share, as Directory allows
)

var states = map[string]int32{"disabled": disabled, "deleted": gone}

var errDown = errors.New("authtest: the directory is down")

func (d *tampered) answer(ctx context.Context, kind int32) error {
	d.calls[kind].Add(1)
	if d.hangs.Load() == kind {
		select {
		case <-ctx.Done():
		case <-time.After(hung):
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if d.down.Load() == kind {
		return errDown
	}
	return nil
}

// other is the code and the key of another org. It has every account: ids are unique only within an
// org.
const other = "authtest-other"

func (d *tampered) Org(ctx context.Context, code string) (*auth.Org, error) {
	if code != other {
		return d.Directory.Org(ctx, code)
	}
	org, err := d.Directory.Org(ctx, d.org)
	if err != nil {
		return nil, err
	}
	another := auth.Org{Code: other}
	if org.ID != "" {
		another.ID = other
	}
	return &another, nil
}

func (d *tampered) App(ctx context.Context, clientKey string) (*auth.App, error) {
	return tamper(ctx, d, apps, d.apps.Load(), func() (*auth.App, error) { return d.Directory.App(ctx, clientKey) },
		func(a *auth.App) { a.Disabled = true })
}

func (d *tampered) Account(ctx context.Context, org auth.OrgKey, id string) (*auth.Account, error) {
	state := d.accounts.Load()
	look := func() (*auth.Account, error) { return d.Directory.Account(ctx, org, id) }
	if org == other {
		look, state = func() (*auth.Account, error) { return &auth.Account{ID: id, Org: org}, nil }, asItIs
	}
	return tamper(ctx, d, accounts, state, look, func(a *auth.Account) {
		if a.Disabled = state == disabled; state == roled {
			a.Roles = d.roles
		}
	})
}

// tamper returns what look finds, in another state.
func tamper[T any](ctx context.Context, d *tampered, kind, state int32, look func() (*T, error), change func(*T)) (*T, error) {
	if err := d.answer(ctx, kind); err != nil {
		return nil, err
	}
	found, err := look()
	switch {
	case err != nil || state == asItIs:
		return found, err
	case state == gone:
		return nil, auth.ErrNotFound
	}
	changed := *found
	change(&changed)
	return &changed, nil
}

func (d *tampered) Roles(ctx context.Context, org auth.OrgKey, names []string) ([]auth.Role, error) {
	if err := d.answer(ctx, roles); err != nil {
		return nil, err
	}
	return d.Directory.Roles(ctx, org, names)
}

const rivalHeader = "X-Authtest-Rival"

// rival is another mechanism of the same server.
type rival struct{ as }

var theRival = rival{as{auth.Principal{Account: "rival", Caller: "rival", Mechanism: "authtest rival"}}}

func (rival) Presented(r *http.Request) auth.Presence {
	if r.Header[rivalHeader] != nil {
		return auth.InHeader
	}
	return auth.Absent
}

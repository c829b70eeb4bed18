package authtest

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

// tampered is a directory that a suite changes. Its orgs never fail, because the Guard looks them
// up before the mechanism runs.
type tampered struct {
	auth.Directory
	org   string // the code of the Candidate's
	roles []string

	wrong atomic.Pointer[tampering] // nil: nothing
	mu    sync.Mutex
	calls map[string]int // by the kind of look-up
}

// tampering is what is wrong with one kind of look-ups.
type tampering struct{ kind, how string }

// Kinds of look-ups.
const (
	apps     = "apps"
	accounts = "accounts"
	roles    = "roles"

	// What can be wrong.
	disabled = "disabled"
	deleted  = "deleted"
	roled    = "roled" // with roles that all callers share, as Directory allows
	down     = "down"
	hangs    = "hangs"
)

// counts returns how often each kind was looked up.
func (d *tampered) counts() map[string]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.calls)
}

// look counts a look-up. It returns what is wrong with what it will find, or an error.
func (d *tampered) look(ctx context.Context, kind string) (how string, err error) {
	d.mu.Lock()
	d.calls[kind]++
	d.mu.Unlock()
	if wrong := d.wrong.Load(); wrong != nil && wrong.kind == kind {
		how = wrong.how
	}
	switch {
	case how == hangs:
		select {
		case <-ctx.Done():
		case <-time.After(hung):
		}
	case how == deleted:
		return "", auth.ErrNotFound
	case how == down && ctx.Err() == nil:
		return "", errors.New("authtest: the directory is down")
	}
	return how, ctx.Err()
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
	return tamper(ctx, d, apps, func() (*auth.App, error) { return d.Directory.App(ctx, clientKey) },
		func(a *auth.App, how string) { a.Disabled = how == disabled })
}

func (d *tampered) Account(ctx context.Context, org auth.OrgKey, id string) (*auth.Account, error) {
	return tamper(ctx, d, accounts, func() (*auth.Account, error) {
		if org == other {
			return &auth.Account{ID: id, Org: org}, nil
		}
		return d.Directory.Account(ctx, org, id)
	}, func(a *auth.Account, how string) {
		if a.Disabled = how == disabled; how == roled {
			a.Roles = d.roles
		}
	})
}

// tamper returns what find does, changed by what is wrong with it.
func tamper[T any](ctx context.Context, d *tampered, kind string, find func() (*T, error), change func(*T, string)) (*T, error) {
	how, err := d.look(ctx, kind)
	if err != nil {
		return nil, err
	}
	found, err := find()
	if err != nil || how == "" {
		return found, err
	}
	changed := *found
	change(&changed, how)
	return &changed, nil
}

func (d *tampered) Roles(ctx context.Context, org auth.OrgKey, names []string) ([]auth.Role, error) {
	if _, err := d.look(ctx, roles); err != nil {
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

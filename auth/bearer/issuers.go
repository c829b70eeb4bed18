package bearer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/compact"
	"github.com/tenantkit/tenantkit/internal/recent"
	"github.com/tenantkit/tenantkit/scope"
)

const (
	// rememberFor is how long a token is not verified again, and maxRemembered how many
	// KiB of tokens are remembered. With each request times, key and account are checked anyway.
	rememberFor   = 5 * time.Minute
	maxRemembered = 16 << 10
)

// issuers finds out which issuer a token is of.
type issuers struct {
	by map[sender]*boundIssuer

	groups recent.Groups
	seen   recent.Answers[sender, *Foreign] // by org and whole text
}

// sender is an org and the iss of a token, or the whole text of one. Two orgs may have the same
// issuer, each with its own audience.
type sender struct {
	org  auth.OrgKey
	text string
}

func newIssuers(all []*Issuer) (*issuers, error) {
	if len(all) == 0 {
		return nil, nil
	}
	s := &issuers{by: map[sender]*boundIssuer{}}
	s.groups.Stale, s.groups.Limit = rememberFor, maxRemembered
	for _, i := range all {
		if err := i.validate(); err != nil {
			return nil, err
		}
		key := sender{i.Org, i.URL}
		if s.by[key] != nil {
			return nil, fmt.Errorf("bearer: two Issuers of %q in one org", i.URL)
		}
		s.by[key] = i.bind()
	}
	return s, nil
}

// has reports whether an issuer of the org has this iss.
func (s *issuers) has(org auth.OrgKey, iss string) bool {
	return s != nil && s.by[sender{org, iss}] != nil
}

// ours stands for a token of this server's own apps that was accepted before.
var ours = new(Foreign)

// open returns a verified token of another issuer of the org. For others it returns ours, or nil
// if it has not seen the token before or the token is malformed.
func (s *issuers) open(ctx context.Context, org auth.OrgKey, raw string, now time.Time) (*Foreign, error) {
	if s == nil {
		return ours, nil
	}
	if f, ok := s.seen.Find(&s.groups, now, sender{org, raw}); f == ours {
		return ours, nil
	} else if ok {
		// The key may have been withdrawn since.
		key, err := f.issuer.key(ctx, now, f.kid)
		if err != nil {
			return nil, err
		}
		if key.Equal(f.key) {
			return f, f.isDue(now)
		}
		s.groups.Forget(string(org)) // another key of this kid: verify again
	}
	parts, err := compact.Split(raw, compact.MaxToken)
	if err != nil {
		return nil, nil // refused as one of ours
	}
	// Nobody has verified this iss. It only chooses who does.
	i := s.by[sender{org, textOf(inside(parts.Payload, "iss"))}]
	if i == nil {
		return nil, nil
	}
	return s.remember(ctx, org, raw, now, func() (*Foreign, error) { return i.open(ctx, now, parts) })
}

func (i *boundIssuer) open(ctx context.Context, now time.Time, parts compact.Parts) (*Foreign, error) {
	h, err := readForeignHeader(parts.Header)
	if err != nil {
		return nil, refused(err)
	}
	key, err := i.key(ctx, now, h.kid)
	if err != nil {
		return nil, err
	}
	f, err := i.verify(key, h, parts)
	if err != nil {
		return nil, err
	}
	return f, f.isDue(now)
}

// remember keeps what verify returns, if it returns no error.
func (s *issuers) remember(ctx context.Context, org auth.OrgKey, raw string, now time.Time, verify func() (*Foreign, error)) (*Foreign, error) {
	// The caller's text may be a part of a buffer that is reused.
	key := sender{org, strings.Clone(raw)}
	return s.seen.Get(ctx, &s.groups, now, key, func() (recent.Found[*Foreign], error) {
		f, err := verify()
		// The token is kept as text, and its payload with pointers to its members.
		return recent.Found[*Foreign]{Value: f, Group: string(org), Cost: 1 + 3*len(raw)/1024}, err
	})
}

// rememberOurs keeps the next request with a token of our own from reading its iss.
func (s *issuers) rememberOurs(ctx context.Context, org auth.OrgKey, raw string, now time.Time) {
	s.remember(ctx, org, raw, now, func() (*Foreign, error) { return ours, nil })
}

// principal returns the principal of a token of another issuer.
func (f *Foreign) principal(ctx context.Context, a attempt) (auth.Principal, error) {
	grant, err := f.issuer.grant(ctx, a.tenant, f)
	if err == nil {
		err = a.admitGrant(ctx, f, &grant)
	}
	if err != nil {
		return auth.Principal{}, fault(err)
	}
	return auth.Principal{
		Org:       a.tenant.Org.Key(),
		App:       grant.App,
		Account:   grant.Account,
		Caller:    grant.Account,
		Mechanism: NameIssuer,
		Roles:     a.roles,
		Scope:     a.scope,
		Granted:   a.scope,
		Access:    grant.Access,
		Expires:   time.Unix(f.ends, 0).UTC(),
	}, nil
}

// admitGrant does for a grant what admit does for the claims of an own token.
func (a *attempt) admitGrant(ctx context.Context, f *Foreign, grant *Grant) (err error) {
	if grant.App != "" {
		if _, err := a.tenant.App(ctx, grant.App); err != nil {
			return refuse(err)
		}
	}
	if err := a.enter(ctx, grant.Account, f.issued, grant.Roles); err != nil {
		return err
	}
	var claim scope.Set
	if len(grant.Scope) > 0 {
		claim = a.tenant.CompileRecord(f.issuer.source, grant.Account, grant.Scope)
	}
	a.scope, err = withRoles(ctx, a.tenant, claim, grant.Scope != nil, a.roles)
	return err
}

// grant asks Map, and refuses what names nobody.
func (i *boundIssuer) grant(ctx context.Context, t *auth.Tenant, f *Foreign) (Grant, error) {
	grant, err := i.Map(ctx, t, f)
	if e, ok := errors.AsType[*auth.Error](err); ok {
		return Grant{}, e
	}
	switch {
	case err == nil && grant.Account != "":
		return grant, nil
	case err == nil:
		return Grant{}, refused(errors.New("no account is named by Map"))
	case errors.Is(err, auth.ErrForbidden) && !errors.Is(err, auth.ErrUnavailable):
		return Grant{}, refused(err)
	}
	return Grant{}, refuse(err)
}

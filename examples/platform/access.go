package main

import (
	"net/http"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/scope"
)

// The access rules. They stand beside scopes, which only limit: what a scope
// permits must be allowed here, too. Every account of an org may read
// its objects; what belongs to another org is not found in the first place.

// mayCreate allows members, and credentials that skip this rule.
func mayCreate(p auth.Principal) error {
	if p.SkipCreateACL || p.HasRole(member) {
		return nil
	}
	return auth.ErrForbidden
}

// mayUpdate allows the author, administrators, and credentials that were
// granted as much.
func mayUpdate(p auth.Principal, o *object) error {
	return mayChange(p, o, scope.LevelUpdate)
}

// mayDelete allows the author, administrators, and credentials that were
// granted as much.
func mayDelete(p auth.Principal, o *object) error {
	return mayChange(p, o, scope.LevelDelete)
}

func mayChange(p auth.Principal, o *object, level scope.Level) error {
	if p.SkipACL || p.AtLeast(level) || p.HasRole(administrator) || o.isBy(p.Account) {
		return nil
	}
	return auth.ErrForbidden
}

// mayWriteAs lets administrators write in another's name, and everybody else
// in their own only.
func mayWriteAs(p auth.Principal, values map[string]any) error {
	author, named := values[authorPath]
	if !named || author == p.Account || p.HasRole(administrator) {
		return nil
	}
	return auth.ErrForbidden
}

// mayTakeOver keeps the name of an object's author from those who may write it for a
// while only, by a grant or a skip: an author may write and delete it for good.
func mayTakeOver(p auth.Principal, o *object, changes map[string]any) error {
	if _, named := changes[authorPath]; !named || o.isBy(p.Account) || p.HasRole(administrator) {
		return nil
	}
	return auth.ErrForbidden
}

// administrators lets a route answer accounts with that role only. It stands
// behind the scope that the route needs.
func administrators[T any](answer func(*http.Request) (T, error)) func(*http.Request) (T, error) {
	return func(r *http.Request) (none T, err error) {
		if !auth.From(r.Context()).HasRole(administrator) {
			return none, auth.ErrForbidden
		}
		return answer(r)
	}
}

// mayAdminister is the scope and the role of an administrative route, for
// routes that let in others, too.
func mayAdminister(p auth.Principal, v scope.Verb) error {
	need := scope.Admin(v)
	switch {
	case !p.Scope.Allows(need):
		return &auth.Error{Detail: auth.DetailScope, Reason: need.String()}
	case !p.HasRole(administrator):
		return auth.ErrForbidden
	}
	return nil
}

// mayHandleTokensOf allows administrators, and the subject of tokens. A credential
// of the subject that is narrowed needs the scope of administration for that, too:
// else a token for one view could end all others.
func mayHandleTokensOf(p auth.Principal, subject string, v scope.Verb) error {
	if subject == "" || subject != p.Account {
		return mayAdminister(p, v)
	}
	if need := scope.Admin(v); isNarrow(p) && !p.Scope.Allows(need) {
		return &auth.Error{Detail: auth.DetailScope, Reason: need.String()}
	}
	return nil
}

// isNarrow reports whether a scope narrows the principal's credential.
func isNarrow(p auth.Principal) bool { return len(p.Granted.Missing(scope.Unscoped())) > 0 }

// mayMake holds what is made to its maker. What a session makes outlives it, so
// that a session must have proven itself lately.
func mayMake(p auth.Principal, makings ...auth.Making) error {
	if err := p.MayMake(p.HasRole(administrator), makings...); err != nil {
		return err
	}
	return mustBeFresh(p)
}

func mustBeFresh(p auth.Principal) error {
	if p.Mechanism == session.Name && time.Since(p.Authenticated) > stepUp {
		return &auth.Error{Detail: auth.DetailReauthenticate}
	}
	return nil
}

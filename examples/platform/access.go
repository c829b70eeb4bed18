package main

import (
	"net/http"

	"github.com/tenantkit/tenantkit/auth"
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

// mayHandleTokensOf allows the subject of tokens, and administrators.
func mayHandleTokensOf(p auth.Principal, subject string, v scope.Verb) error {
	if subject != "" && subject == p.Account {
		return nil
	}
	return mayAdminister(p, v)
}

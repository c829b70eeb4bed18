package main

import (
	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/scope"
)

// The access rules on objects. They stand beside scopes, which only limit: what
// a scope permits must be allowed here, too. Every account of an org may read
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

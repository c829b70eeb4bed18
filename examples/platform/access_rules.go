package main

import (
	"cmp"
	"net/http"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/scope"
)

// The access rules. They apply in addition to scopes, and a request must pass both.
// Every account of an org may read its objects. The rules do not mention other
// orgs, because their objects are never found.

// permitted returns an error if a rule does not hold.
func permitted(holds bool) error {
	if !holds {
		return auth.ErrForbidden
	}
	return nil
}

// mayCreate allows members, and credentials that skip this rule.
func mayCreate(p auth.Principal) error {
	return permitted(p.SkipCreateACL || p.HasRole(member))
}

// mayChange allows the author, administrators, and credentials that skip the rules or have a
// grant of at least level.
func mayChange(p auth.Principal, o *object, level scope.Level) error {
	return permitted(p.SkipACL || p.AtLeast(level) || p.HasRole(administrator) || o.isBy(p.Account))
}

// mayWriteAs lets administrators name another author, and everybody else only themselves.
func mayWriteAs(p auth.Principal, values map[string]any) error {
	author, named := values[authorPath]
	return permitted(!named || author == p.Account || p.HasRole(administrator))
}

// mayChangeAuthor refuses a new author to callers who may write the object only through a grant or
// a skip. Those end with the credential, but an author may write and delete the object for good.
func mayChangeAuthor(p auth.Principal, o *object, changes map[string]any) error {
	_, named := changes[authorPath]
	return permitted(!named || o.isBy(p.Account) || p.HasRole(administrator))
}

// administrators limits routes to accounts with that role. The scope that a
// route needs is checked before.
func administrators(_ http.ResponseWriter, r *http.Request) error {
	return permitted(auth.From(r.Context()).HasRole(administrator))
}

// mayAdminister checks the scope and the role of an administrative route. It is for
// routes that are also open to others.
func mayAdminister(p auth.Principal, v scope.Verb) error {
	return cmp.Or(withinScope(p, v), permitted(p.HasRole(administrator)))
}

// withinScope checks only the scope of administration.
func withinScope(p auth.Principal, v scope.Verb) error {
	if need := scope.Admin(v); !p.Scope.Allows(need) {
		return &auth.Error{Detail: auth.DetailScope, Reason: need.String()}
	}
	return nil
}

// mayHandleTokensOf allows administrators, and the subject of the tokens. A
// narrowed credential of the subject also needs the scope of administration.
// Otherwise a token for one view could end all other tokens.
func mayHandleTokensOf(p auth.Principal, subject string, v scope.Verb) error {
	if subject == "" || subject != p.Account {
		return mayAdminister(p, v)
	}
	if isNarrow := len(p.Granted.Missing(scope.Unscoped())) > 0; isNarrow {
		return withinScope(p, v)
	}
	return nil
}

// mayHandleOwn returns the account whose tokens or API keys a caller may see or end, by mayHandleTokensOf:
// its own, and "" for those of all accounts.
func mayHandleOwn(p auth.Principal, v scope.Verb) (account string, err error) {
	if mayAdminister(p, v) == nil {
		return "", nil
	}
	return p.Account, mayHandleTokensOf(p, p.Account, v)
}

// mayMake checks that a caller passes on no more than it may itself. What a session
// makes outlives the session, so the session must be fresh.
func mayMake(p auth.Principal, makings ...auth.Making) error {
	return cmp.Or(p.AsAdministrator(p.HasRole(administrator)).MayMake(makings...), mustBeFresh(p))
}

func mustBeFresh(p auth.Principal) error {
	if p.Mechanism == session.Name && time.Since(p.Authenticated) > stepUp {
		return &auth.Error{Detail: auth.DetailReauthenticate}
	}
	return nil
}

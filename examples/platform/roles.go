package main

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/envelope/body"
)

// roles serves the administration of roles. A role adds its chains to the tokens of
// every account that has it.
type roles struct{ *platform }

type roleReply struct {
	envelope.Item
	Scope []string `json:"scope"`
}

func replyOfRole(r *auth.Role) roleReply {
	return roleReply{envelope.Item{ID: r.Name, Object: "role"}, append([]string{}, r.Scope...)}
}

func (h roles) list(r *http.Request) (envelope.List[roleReply], error) {
	return recordPage(r, h.store, "role", "SELECT record FROM platform_roles WHERE org = $1 ORDER BY name", replyOfRole)
}

var (
	rolePatch = body.Form{{Path: "scope", Kind: body.Strings}}
	roleBody  = body.Form{
		{Path: "name", Kind: checked(notRoleName), Required: true},
		{Path: "scope", Kind: body.Strings, Required: true},
	}

	validRoleName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)
)

func notRoleName(name string) string {
	return unless(validRoleName.MatchString(name), "must be 1 to 64 letters, digits, hyphens and underscores")
}

func (h roles) create(r *http.Request, values map[string]any) (roleReply, error) {
	role := auth.Role{Name: values["name"].(string), Scope: values["scope"].([]string)}
	p := auth.From(r.Context())
	err := cmp.Or(p.AsAdministrator(p.HasRole(administrator)).MayMake(), mayScopeRole(r.Context(), auth.Role{}, role))
	if err == nil {
		err = h.store.addRole(r.Context(), p.Org, role)
	}
	return as(replyOfRole)(&role, err)
}

func (h roles) update(r *http.Request, values map[string]any) (roleReply, error) {
	at := roleRow(auth.From(r.Context()).Org, r.PathValue("name"))
	return as(replyOfRole)(alter(r.Context(), h.store, at, func(role *auth.Role) error {
		before := *role
		setIfGiven(&role.Scope, values, "scope")
		return mayScopeRole(r.Context(), before, *role)
	}))
}

// delete deletes a role. Accounts that have it lose its chains. Tokens that add the
// role are refused.
func (h roles) delete(r *http.Request) (envelope.Result[bool], error) {
	return done(h.store.remove(r.Context(), roleRow(auth.From(r.Context()).Org, r.PathValue("name"))))
}

// mayScopeRole decides whether the caller may change a role from before to after.
// Fewer chains need no more than the route. Other chains work from anywhere and
// without an end, so the caller must be allowed to give them.
func mayScopeRole(ctx context.Context, before, after auth.Role) error {
	p, tenant := auth.From(ctx), auth.TenantFrom(ctx)
	size := func(r auth.Role) int { return len(strings.Join(r.Scope, "")) }
	if len(after.Scope) > max(maxChains, len(before.Scope)) || size(after) > max(maxScope, size(before)) {
		return wrongBody("scope", fmt.Sprintf("must have at most %d chains, of %d bytes together", maxChains, maxScope))
	}
	was, dropped := tenant.Compile("role", before.Scope)
	set, err := tenant.Compile("role", after.Scope)
	if err = cmp.Or(tenant.Vet("scope", after.Scope), err); err != nil {
		return err
	}
	if dropped == nil && len(was.Missing(set)) == 0 {
		return nil
	}
	return mayMake(p, auth.Making{Account: p.Account, Scope: set})
}

// The limits of roles. Their chains are kept compiled in memory, which takes about 30
// times the bytes of the text, for each account that has them.
const (
	maxRoles        = 100 // of an org
	maxAccountRoles = 64
	maxChains       = 200      // of a role
	maxScope        = 16 << 10 // bytes of all chains of a role
)

// addRole adds a role, unless the org has maxRoles.
func (s *store) addRole(ctx context.Context, org auth.OrgKey, r auth.Role) error {
	return s.reported(ctx, roleRow(org, r.Name).changed, func(tx *sql.Tx) error {
		if err := putRole(ctx, tx, org, r); err != nil {
			return err
		}
		var all int
		err := tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM platform_roles WHERE org = $1", org).Scan(&all)
		if err == nil && all > maxRoles {
			return &auth.Error{Detail: auth.DetailConflict, Reason: fmt.Sprintf("an org has at most %d roles", maxRoles)}
		}
		return storeFailed(err)
	})
}

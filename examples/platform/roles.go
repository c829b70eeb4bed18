package main

import (
	"context"
	"net/http"
	"regexp"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope"
)

// roles serves the administration of roles. A role adds its chains to the tokens of
// every account that has it.
type roles struct{ store *store }

type roleReply struct {
	envelope.Item
	Scope []string `json:"scope"`
}

func replyOfRole(r *auth.Role) roleReply {
	return roleReply{envelope.Item{ID: r.Name, Object: "role"}, append([]string{}, r.Scope...)}
}

func (h roles) list(r *http.Request) (envelope.List[roleReply], error) {
	all, err := findAll[auth.Role](r.Context(), h.store.db,
		"SELECT record FROM platform_roles WHERE org = $1 ORDER BY name", auth.From(r.Context()).Org)
	if err != nil {
		return envelope.List[roleReply]{}, err
	}
	return ownPage(r, "role", each(all, replyOfRole))
}

var (
	rolePatch = envelope.Form{{Path: "scope", Kind: envelope.Strings}}
	roleBody  = envelope.Form{
		{Path: "name", Kind: envelope.String, Required: true},
		{Path: "scope", Kind: envelope.Strings, Required: true},
	}

	validRoleName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)
)

func (h roles) create(r *http.Request) (roleReply, error) {
	values, err := readValues(r, roleBody)
	if err != nil {
		return roleReply{}, err
	}
	var role auth.Role
	setIfGiven(&role.Name, values, "name")
	setIfGiven(&role.Scope, values, "scope")
	if !validRoleName.MatchString(role.Name) {
		return roleReply{}, wrongBody("name", "must be 1 to 64 letters, digits, hyphens and underscores")
	}
	p := auth.From(r.Context())
	if err := p.MayMake(p.HasRole(administrator)); err != nil {
		return roleReply{}, err
	}
	if err := mayScopeRole(r.Context(), auth.Role{}, role); err != nil {
		return roleReply{}, err
	}
	return replyOfRole(&role), h.store.addRole(r.Context(), p.Org, role)
}

func (h roles) update(r *http.Request) (roleReply, error) {
	values, err := readValues(r, rolePatch)
	if err != nil {
		return roleReply{}, err
	}
	role, err := alter(r.Context(), h.store, roleRow(auth.From(r.Context()).Org, r.PathValue("name")), func(role *auth.Role) error {
		before := *role
		setIfGiven(&role.Scope, values, "scope")
		return mayScopeRole(r.Context(), before, *role)
	})
	if err != nil {
		return roleReply{}, err
	}
	return replyOfRole(role), nil
}

// delete deletes a role. Accounts that have it lose its chains. Tokens that add the
// role are refused.
func (h roles) delete(r *http.Request) (envelope.Result[bool], error) {
	return done(h.store.remove(r.Context(), roleRow(auth.From(r.Context()).Org, r.PathValue("name")), auth.ErrNotFound))
}

// mayScopeRole decides whether the caller may change a role from before to after.
// Fewer chains need no more than the route. Other chains work from anywhere and
// without an end, so the caller must be allowed to give them.
func mayScopeRole(ctx context.Context, before, after auth.Role) error {
	p, tenant := auth.From(ctx), auth.TenantFrom(ctx)
	if err := tenant.Vet("scope", after.Scope); err != nil {
		return err
	}
	was, dropped := tenant.Compile("role", before.Scope)
	set, err := tenant.Compile("role", after.Scope)
	if err != nil {
		return err
	}
	if dropped == nil && len(was.Missing(set)) == 0 {
		return nil
	}
	return mayMake(p, auth.Making{Account: p.Account, Scope: set})
}

func (s *store) addRole(ctx context.Context, org string, r auth.Role) error {
	return s.exec(ctx, org, &auth.Error{Detail: auth.DetailConflict, Path: "name"},
		"INSERT INTO platform_roles (org, name, record) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING", org, r.Name, asJSON(r))
}

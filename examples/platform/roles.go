package main

import (
	"context"
	"errors"
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
	all, err := h.store.listRoles(r.Context(), auth.From(r.Context()).Org)
	if err != nil {
		return envelope.List[roleReply]{}, err
	}
	var replies []roleReply
	for _, role := range all {
		replies = append(replies, replyOfRole(role))
	}
	return ownPage(r, "role", replies)
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
	wrong := invalid{detail: auth.DetailBody}
	if !validRoleName.MatchString(role.Name) {
		wrong.add("name", "must be 1 to 64 letters, digits, hyphens and underscores")
	}
	if err := wrong.orNil(); err != nil {
		return roleReply{}, err
	}
	p := auth.From(r.Context())
	if err := p.MayMake(p.HasRole(administrator)); err != nil {
		return roleReply{}, err
	}
	if err := mayScopeRole(r.Context(), auth.Role{}, role); err != nil {
		return roleReply{}, err
	}
	return replyOfRole(&role), h.store.addRole(r.Context(), auth.From(r.Context()).Org, role)
}

func (h roles) update(r *http.Request) (roleReply, error) {
	values, err := readValues(r, rolePatch)
	if err != nil {
		return roleReply{}, err
	}
	role, err := h.store.changeRole(r.Context(), auth.From(r.Context()).Org, r.PathValue("name"), func(role *auth.Role) error {
		before := *role
		setIfGiven(&role.Scope, values, "scope")
		return mayScopeRole(r.Context(), before, *role)
	})
	if err != nil {
		return roleReply{}, err
	}
	return replyOfRole(role), nil
}

// delete forgets a role. Accounts that have it lose its chains, and tokens that add
// it are refused.
func (h roles) delete(r *http.Request) (envelope.Result[bool], error) {
	err := h.store.deleteRole(r.Context(), auth.From(r.Context()).Org, r.PathValue("name"))
	return envelope.Result[bool]{Data: err == nil}, err
}

// mayScopeRole decides whether the caller may make a role what it is after. Fewer
// chains need no more than the route; others are the caller's to give, without end
// and from anywhere.
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

func (s *store) listRoles(ctx context.Context, org string) ([]*auth.Role, error) {
	return findAll[auth.Role](ctx, s, "SELECT record FROM platform_roles WHERE org = $1 ORDER BY name", org)
}

func (s *store) addRole(ctx context.Context, org string, r auth.Role) error {
	return s.exec(ctx, org, &auth.Error{Detail: auth.DetailConflict, Path: "name"},
		"INSERT INTO platform_roles (org, name, record) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING", org, r.Name, record(r))
}

// changeRole alters a role that is there, and returns it as it is then.
func (s *store) changeRole(ctx context.Context, org, name string, change func(*auth.Role) error) (*auth.Role, error) {
	for {
		role, err := find[auth.Role](ctx, s, "SELECT record FROM platform_roles WHERE org = $1 AND name = $2", org, name)
		if err != nil {
			return nil, err
		}
		before := record(role)
		if err := change(role); err != nil {
			return nil, err
		}
		err = s.exec(ctx, org, errMoved, "UPDATE platform_roles SET record = $4 WHERE org = $1 AND name = $2 AND record = $3",
			org, name, before, record(role))
		if !errors.Is(err, errMoved) {
			return role, err
		}
	}
}

func (s *store) deleteRole(ctx context.Context, org, name string) error {
	return s.exec(ctx, org, auth.ErrNotFound, "DELETE FROM platform_roles WHERE org = $1 AND name = $2", org, name)
}

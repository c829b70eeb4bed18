package enginetest

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// ending is a request that ends or narrows something. The placeholders {app}, {account}, {role},
// {home} and {theirs} are replaced.
type ending struct {
	name, method, path string
	body               any
	lacks              func(knownRoutes) bool // reports whether the server lacks the route; nil: it never does
}

var endings = []ending{
	{"an earlier end", "PATCH", "/apps/{app}", credentialOf("notAfter", inJSON(time.Now().Add(24*time.Hour))), nil},
	{"fewer accounts", "PATCH", "/apps/{app}", credentialOf("accounts", []string{}), nil},
	{"smaller networks", "PATCH", "/apps/{app}", credentialOf("networks", []string{"127.0.0.0/9"}), nil},
	{"a smaller scope", "PATCH", "/apps/{app}", credentialOf("scope", []string{"object.read"}), func(k knownRoutes) bool { return !k.scopes }},
	{"a disabled app", "PATCH", "/apps/{app}", map[string]any{"disabled": true}, nil},
	{"a deleted app", "DELETE", "/apps/{app}", nil, nil},
	{"fewer roles", "PATCH", "/admin/accounts/{account}", map[string]any{"roles": []string{member}}, func(k knownRoutes) bool { return !k.accounts }},
	{"a deactivated account", "POST", "/admin/accounts/{account}/deactivate", nil, nil},
	{"a smaller role", "PATCH", "/admin/roles/{role}", map[string]any{"scope": []string{"object.read"}}, func(k knownRoutes) bool { return !k.roles }},
	{"a deleted role", "DELETE", "/admin/roles/{role}", nil, func(k knownRoutes) bool { return !k.roles }},
	{"revoked tokens", "DELETE", "/apps/{home}/subjects/{theirs}/tokens", nil, nil},
}

func credentialOf(name string, value any) map[string]any {
	return map[string]any{"credential": map[string]any{name: value}}
}

// narrow lets a principal end and narrow things that are wider than itself. An administrator whose
// scope allows admin.update may do so, whatever else limits it.
func (r *round) narrow(p *principal) {
	c := credential{account: r.chief, accounts: []string{r.hand}, notAfter: time.Now().Add(48 * time.Hour), networks: []string{"127.0.0.0/8"}}
	if r.routes.scopes {
		c.scope = []string{"object", "admin"}
	}
	role := r.roleName()
	if r.routes.roles {
		r.must(r.t, "POST", "/admin/roles", map[string]any{"name": role, "scope": []string{"object"}})
	}
	account := r.newAccount([]string{administrator, member})
	fill := strings.NewReplacer("{app}", r.ownApp(c).key, "{account}", account, "{role}", role,
		"{home}", r.home.key, "{theirs}", r.theirs())
	for _, e := range endings {
		if e.lacks != nil && e.lacks(r.routes) {
			continue
		}
		r.tally.count(&r.tally.endings)
		body := written(e.body)
		got := r.send(r.t, p.seen.from, func() wish { return p.wish(r.fleet, e.method, fill.Replace(e.path), body) })
		switch got.status {
		case http.StatusOK:
		case http.StatusUnauthorized:
			return // it has ended meanwhile
		default:
			r.find(refusedEnding, p, []string{e.name + ": " + got.code()})
		}
	}
}

// revokeMakers lets each token with a jti revoke itself, which is never refused. The tokens with a
// jti that it made end with it.
func (r *round) revokeMakers() {
	for _, p := range r.principals {
		if !p.isKept() || p.standIn {
			continue
		}
		from := r.reach(p).from
		if from < 0 {
			continue // it has ended already
		}
		living := r.descendants(p)
		r.tally.count(&r.tally.endings)
		path := "/apps/" + p.app.key + "/tokens/" + p.claims.ID
		got := r.send(r.t, from, func() wish { return p.wish(r.fleet, "DELETE", path, "") })
		switch got.status {
		case http.StatusOK:
		case http.StatusUnauthorized:
			continue // it has ended meanwhile
		default:
			if ends := p.claims.Expires; got.status != http.StatusNotFound || ends == 0 || time.Now().Unix() < ends {
				r.find(refusedEnding, p, []string{"revoking itself: " + got.code()})
			}
			continue // not found: it has expired since it was let in
		}
		if r.isAlive(p) {
			r.find(revokedMaker, p, []string{"it has revoked itself, and is let in"})
		}
		r.expectEnded(living, revokedMaker, "a token that it comes from has been revoked")
	}
}

// descendants returns the living tokens with a jti that a principal made, those that they made, and the
// API keys that it made for its app.
func (r *round) descendants(of *principal) (living []*principal) {
	for _, p := range r.principals {
		if (p.minted && p.isKept() || p.apiKey && p.app.key == of.app.key) && (p.maker == of || slices.Contains(living, p.maker)) && r.isAlive(p) {
			living = append(living, p)
		}
	}
	return living
}

func (r *round) expectEnded(living []*principal, c class, why string) {
	for _, descendant := range living {
		r.tally.count(&r.tally.descendants)
		if r.isAlive(descendant) {
			r.find(c, descendant, []string{"it is let in, and " + why})
		}
	}
}

// endApps deletes or disables apps whose keys made tokens of other apps. These tokens end with the
// app.
func (r *round) endApps() {
	var all []*principal
	for _, a := range r.apps {
		living := r.descendantsOfKey(a)
		if len(living) == 0 {
			continue
		}
		all = append(all, living...)
		if path := "/apps/" + a.key; r.IntN(2) == 0 {
			r.must(r.t, "DELETE", path, nil)
		} else {
			r.must(r.t, "PATCH", path, map[string]any{"disabled": true})
		}
	}
	if len(all) > 0 {
		time.Sleep(stale)
		r.expectEnded(all, boundKey, "the app whose key made it is deleted or disabled")
	}
}

func (r *round) descendantsOfKey(a app) (living []*principal) {
	for _, p := range r.principals {
		if p.signs() && p.app.key == a.key {
			living = append(living, r.descendants(p)...)
		}
	}
	return living
}

// demoted returns an account that was an administrator until now, with a token that also names that
// role. It returns nil if the server cannot do this.
func (r *round) demoted() *principal {
	if !r.routes.accounts {
		return nil
	}
	account := r.newAccount([]string{administrator})
	r.rolesOf[account] = []string{member}
	p := r.standIn(nil, "a token that names the role of an administrator", account, everything, []string{administrator})
	r.must(r.t, "PATCH", "/admin/accounts/"+account, map[string]any{"roles": []string{member}})
	return p
}

// lookAtDemoted expects that the token has lost the role with its account. The server has had its
// allowed time.
func (r *round) lookAtDemoted(p *principal) {
	if p == nil {
		return
	}
	if p.seen = r.interview(p); p.delegates() {
		r.find(pinnedRole, p, []string{"its subject is no administrator any more, and the token still is"})
	}
}

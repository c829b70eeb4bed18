package enginetest

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// standIn is a token of the administrator for a new account, or for an account with a new role.
// What the token can do, the account can do.
func (r *round) standIn(maker *principal, how, account string, scope, roles []string) *principal {
	options := map[string]any{"sub": account, "scope": scope, "permanent": true}
	if roles != nil {
		options["roles"] = roles
	}
	data := r.must(r.t, "POST", "/apps/"+r.home.key+"/tokens", options).result()
	token, _ := data["token"].(string)
	p := r.newBearer(maker, how, token)
	if p != nil {
		p.minted, p.standIn = false, true
	}
	return p
}

// everything is the scope of all that an account can do.
var everything = []string{""}

// tryAccount makes an account. An account with only the roles of a newly registered one does not
// count, nor does the session that its password opens.
func (r *round) tryAccount(p *principal) *principal {
	roles := one(r.random, [][]string{{administrator}, {administrator, member}, {member}})
	email := r.name("made") + "@acme.example"
	body := map[string]any{"email": email, "roles": roles}
	withPassword := r.IntN(4) == 0
	if withPassword {
		body["password"] = password
	}
	got, ok := r.try(p, "account", "POST", "/admin/accounts", body)
	if !ok {
		return nil
	}
	r.rolesOf[got.id()] = roles
	how := "POST /admin/accounts " + written(body)
	switch {
	case !slices.Contains(roles, administrator):
		return nil
	case withPassword:
		return r.login(p, how, got.id(), email)
	}
	return r.standIn(p, how, got.id(), everything, nil)
}

func (r *round) tryPromotion(p *principal) *principal {
	account := r.newAccount([]string{member})
	body := map[string]any{"roles": []string{administrator}}
	if _, ok := r.try(p, "promoted account", "PATCH", "/admin/accounts/"+account, body); !ok {
		return nil
	}
	r.rolesOf[account] = []string{administrator}
	return r.standIn(p, "PATCH of an account with "+written(body), account, everything, nil)
}

// deactivated returns a disabled account of an administrator.
func (r *round) deactivated() (account string) {
	account = r.newAccount([]string{administrator})
	r.rolesOf[account] = []string{administrator}
	r.must(r.t, "POST", "/admin/accounts/"+account+"/deactivate", nil)
	return account
}

func (r *round) tryReactivation(p *principal) *principal {
	account, body := r.deactivated(), map[string]any{"disabled": false}
	if _, ok := r.try(p, "enabled account", "PATCH", "/admin/accounts/"+account, body); !ok {
		return nil
	}
	return r.standIn(p, "PATCH of an account with "+written(body), account, everything, nil)
}

func (r *round) tryActivation(p *principal) *principal {
	account := r.deactivated()
	if _, ok := r.try(p, "activated account", "POST", "/admin/accounts/"+account+"/activate", nil); !ok {
		return nil
	}
	return r.standIn(p, "activation of an account", account, everything, nil)
}

// tryFactor removes the second factor of an administrator whose password is known.
func (r *round) tryFactor(p *principal) *principal {
	account, email := r.fresh, ""
	if r.routes.accounts {
		account, email = r.withFactor()
	}
	body := map[string]any{"resetSecondFactor": true}
	if _, ok := r.try(p, "second factor", "PATCH", "/admin/accounts/"+account, body); !ok {
		return nil
	}
	return r.login(p, "PATCH of an account with "+written(body), account, email)
}

// withFactor returns an administrator with a second factor.
func (r *round) withFactor() (account, email string) {
	email = r.name("factor") + "@acme.example"
	roles := []string{administrator}
	body := map[string]any{"email": email, "password": password, "roles": roles}
	account = r.must(r.t, "POST", "/admin/accounts", body).id()
	r.rolesOf[account] = roles
	p := r.login(nil, "login", account, email)
	enrol := func(path string, body any) outcome {
		return r.send(r.t, 0, func() wish { return p.wish(r.fleet, "POST", "/accounts/me/second-factor"+path, written(body)) })
	}
	secret, _ := enrol("", nil).result()["secret"].(string)
	got := enrol("/confirm", map[string]any{"code": oneTimeCode(secret, time.Now())})
	if got.status != http.StatusOK {
		r.t.Errorf("confirming a second factor: %d %s", got.status, got.body)
	}
	return account, email
}

// oneTimeCode returns the code of a second factor (RFC 6238).
func oneTimeCode(secret string, at time.Time) string {
	key, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(secret)
	if err != nil {
		return err.Error()
	}
	mac := hmac.New(sha1.New, key)
	binary.Write(mac, binary.BigEndian, at.Unix()/30)
	sum := mac.Sum(nil)
	number := binary.BigEndian.Uint32(sum[sum[19]&15:]) & (1<<31 - 1)
	return fmt.Sprintf("%06d", number%1_000_000)
}

func (r *round) tryRole(p *principal) *principal {
	body := map[string]any{"name": r.roleName(), "scope": r.someScope()}
	if _, ok := r.try(p, "role", "POST", "/admin/roles", body); !ok {
		return nil
	}
	return r.withRole(p, "POST /admin/roles "+written(body), body["name"].(string))
}

func (r *round) tryWiderRole(p *principal) *principal {
	name := r.roleName()
	if r.routes.roles {
		r.must(r.t, "POST", "/admin/roles", map[string]any{"name": name, "scope": []string{}})
	}
	body := map[string]any{"scope": r.someScope()}
	if _, ok := r.try(p, "wider role", "PATCH", "/admin/roles/"+name, body); !ok {
		return nil
	}
	return r.withRole(p, "PATCH of a role with "+written(body), name)
}

// someScope returns a scope that permits something, because a role without permissions limits
// nobody.
func (r *round) someScope() []string {
	for {
		if scope := one(r.random, scopes); len(scope) > 0 {
			return scope
		}
	}
}

// withRole returns a token with exactly the permissions of a role.
func (r *round) withRole(maker *principal, how, role string) *principal {
	account := r.newAccount([]string{})
	r.rolesOf[account] = nil
	return r.standIn(maker, how, account, []string{}, []string{role})
}

// trySettings makes the org accept sessions that were unused for longer.
func (r *round) trySettings(p *principal) *principal {
	r.settings.Lock()
	defer r.settings.Unlock()
	const path = "/admin/settings"
	idle := r.administer(r.t, "GET", path, nil).member("idle")
	body := map[string]any{"idle": longer(idle)}
	if _, ok := r.try(p, "settings", "PATCH", path, body); !ok {
		return nil
	}
	if p.isBound() {
		made := &principal{how: "PATCH " + path + " " + written(body), maker: p}
		r.find(classOf(made), made, []string{"it is for all accounts, and does not end"})
	}
	r.must(r.t, "PATCH", path, map[string]any{"idle": idle})
	return nil
}

// longer returns a longer duration: a number, or a text such as 30m.
func longer(length any) any {
	switch length := length.(type) {
	case float64:
		return length + 60
	case string:
		if d, err := time.ParseDuration(length); err == nil {
			return (d + time.Minute).String()
		}
	}
	return nil
}

package enginetest

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// firstNewcomers are the first principals of rounds, in turn. All of them act as an administrator,
// and most have one limit.
var firstNewcomers = []func(*round) *principal{
	func(r *round) *principal { return r.newSession(r.chief) },
	func(r *round) *principal { return r.newToken(r.chiefs("permanent", true, "admin.update")) },
	func(r *round) *principal { return r.newAppSigner(r.until(5 * time.Second)) },
	func(r *round) *principal { return r.newToken(r.chiefs("expiresIn", 5, "admin.update")) },
	func(r *round) *principal {
		return r.newAppSigner(credential{account: r.chief, networks: []string{"127.0.0.2/32"}})
	},
	func(r *round) *principal { return r.newToken(r.chiefs("maxUses", 500, "")) },
	func(r *round) *principal {
		return r.newToken(r.chiefs("permanent", true, "object.read.c_message.*.c_text"))
	},
	func(r *round) *principal {
		return r.newAppSigner(credential{account: r.chief, scope: []string{"admin.update"}})
	},
	func(r *round) *principal { return r.newToken(r.chiefs("expiresIn", 60)) },
	func(r *round) *principal { return r.newToken(r.chiefs("permanent", true, "")) },
	func(r *round) *principal { return r.newKey(credential{account: r.chief}) },
}

// chiefs are options of a token for the administrator of the workspace.
func (r *round) chiefs(option string, value any, scope ...string) map[string]any {
	return map[string]any{"sub": r.chief, "scope": append([]string{}, scope...), option: value}
}

func (r *round) until(life time.Duration) credential {
	return credential{account: r.chief, notAfter: time.Now().Add(life)}
}

// newcomer returns a principal that the administrator makes, with any limits. It returns nil if the
// server does not support these limits.
func (r *round) newcomer() *principal {
	switch r.IntN(9) {
	case 0:
		return r.newSession(one(r.random, []string{r.chief, r.chief, r.hand}))
	case 1, 2:
		return r.newHomeSigner(r.credential(nil))
	case 3, 4:
		return r.newAppSigner(r.credential(nil))
	case 5:
		return r.newKey(r.credential(nil))
	}
	return r.newToken(r.tokenOptions(nil))
}

func (r *round) newToken(options map[string]any) *principal {
	path := "/apps/" + r.home.key + "/tokens"
	token, _ := r.must(r.t, "POST", path, options).result()["token"].(string)
	return r.newBearer(nil, "POST "+path+" "+written(options), token)
}

func (r *round) newSession(account string) *principal {
	return r.login(nil, "login", account, r.emails[account])
}

// login returns nil if the password alone opens no session.
func (r *round) login(maker *principal, how, account, email string) *principal {
	body := written(map[string]any{"email": email, "password": password})
	got := r.send(r.t, 0, func() wish { return wish{"POST", "/accounts/login", body, nil} })
	cookie, _, _ := strings.Cut(got.header.Get("Set-Cookie"), ";")
	if got.status != http.StatusOK {
		return nil
	}
	return &principal{
		how: how, maker: maker, cookie: cookie, account: account,
		administrator: slices.Contains(r.rolesOf[account], administrator),
	}
}

// newHomeSigner returns the holder of the key of an app with a key pair. A round has only one,
// because a second one would change its limits.
func (r *round) newHomeSigner(c credential) *principal {
	if slices.ContainsFunc(r.principals, func(p *principal) bool { return p.app == r.home }) {
		return nil
	}
	body := map[string]any{"credential": c.body(r.routes)}
	if got := r.administer(r.t, "PATCH", "/apps/"+r.home.key, body); got.status != http.StatusOK {
		return nil
	}
	return r.newSigner(nil, "PATCH of an app with "+written(body), r.home, c)
}

// newAppSigner returns the holder of the key of an app that can be deleted.
func (r *round) newAppSigner(c credential) *principal {
	body := map[string]any{"name": "made", "credential": c.body(r.routes)}
	got := r.administer(r.t, "POST", "/apps", body)
	if got.status != http.StatusOK {
		return nil
	}
	a := app{got.id(), got.text("secret")}
	r.apps = append(r.apps, a)
	return r.newSigner(nil, "POST /apps "+written(body), a, c)
}

package enginetest

import (
	"time"
)

func (r *round) tryApp(p *principal) *principal {
	c := r.credential(p)
	body := map[string]any{"name": "made", "credential": c.body(r.routes)}
	got, ok := r.try(p, "app", "POST", "/apps", body)
	if !ok {
		return nil
	}
	a := app{got.id(), got.text("secret")}
	r.apps = append(r.apps, a)
	return r.newSigner(p, "POST /apps "+written(body), a, c)
}

// widened removes limits from a credential, mostly all of them.
func (r *round) widened(c credential) credential {
	if r.IntN(5) > 0 {
		c.notAfter = time.Time{}
	}
	if r.IntN(5) > 0 {
		c.networks = nil
	}
	if r.IntN(5) > 0 {
		c.scope = nil
	}
	if r.IntN(2) == 0 {
		c.account, c.accounts = r.chief, nil
	}
	return c
}

// tryOwnApp lets a signing key widen itself.
func (r *round) tryOwnApp(p *principal) *principal {
	if !p.signs() {
		return r.tryApp(p)
	}
	c := r.widened(credential{account: p.account, notAfter: p.ends, networks: p.networks, scope: p.scope})
	path, body := "/apps/"+p.app.key, map[string]any{"credential": c.body(r.routes)}
	if _, ok := r.try(p, "own credential", "PATCH", path, body); !ok {
		return nil
	}
	p.changed = true
	return r.newSigner(p, "PATCH "+path+" "+written(body), p.app, c)
}

// tryShutApp lets a principal widen and enable the key of a disabled app.
func (r *round) tryShutApp(p *principal) *principal {
	c := credential{account: r.chief, notAfter: time.Now().Add(time.Minute), networks: []string{"10.0.0.0/8"}}
	if r.routes.scopes {
		c.scope = []string{"object.read.c_message"}
	}
	a := r.ownApp(c)
	path := "/apps/" + a.key
	r.must(r.t, "PATCH", path, map[string]any{"disabled": true})
	c = r.widened(c)
	body := map[string]any{"disabled": false, "credential": c.body(r.routes)}
	if _, ok := r.try(p, "disabled app", "PATCH", path, body); !ok {
		return nil
	}
	return r.newSigner(p, "PATCH "+path+" "+written(body), a, c)
}

// trySecret requests the secret of an app without limits.
func (r *round) trySecret(p *principal) *principal {
	c := unbound(one(r.random, []string{r.chief, r.hand, r.fresh}))
	a := r.ownApp(c)
	path := "/apps/" + a.key + "/secret"
	got, ok := r.try(p, "secret", "POST", path, nil)
	if !ok {
		return nil
	}
	a.secret, _ = got.result()["secret"].(string)
	return r.newSigner(p, "POST "+path+" of an app that acts as "+c.account, a, c)
}

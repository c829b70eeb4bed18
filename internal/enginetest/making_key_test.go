package enginetest

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// tryKey requests an API key of an app.
func (r *round) tryKey(p *principal) *principal {
	if !r.routes.keys {
		return r.tryToken(p)
	}
	key := cmp.Or(p.app.key, r.home.key)
	if r.IntN(4) == 0 {
		key = r.away.key
	}
	body := r.keyBody(r.credential(p))
	path := "/apps/" + key + "/keys"
	got, ok := r.try(p, "API key", "POST", path, body)
	return r.keyHolder(p, "POST "+path+" "+written(body), key, got, ok)
}

// tryOtherKey lets a principal replace a key that the administrator has made. The new one has its grant.
func (r *round) tryOtherKey(p *principal) *principal {
	if !r.routes.keys {
		return r.tryApp(p)
	}
	key := cmp.Or(p.app.key, r.home.key)
	path, body := "/apps/"+key+"/keys", r.keyBody(r.credential(nil))
	old := r.must(r.t, "POST", path, body)
	path += "/" + old.id() + "/replace"
	with := map[string]any{"overlap": 0}
	if life := r.withinEnd(p, one(r.random, lives)); life > 0 {
		with["expires"] = instant(time.Now().Add(time.Duration(life) * time.Second))
	}
	got, ok := r.try(p, "replaced API key", "POST", path, with)
	return r.keyHolder(p, "POST "+path+" "+written(with)+" of "+written(body), key, got, ok)
}

// newKey returns the holder of a key that the administrator makes. It returns nil if the server has none.
func (r *round) newKey(c credential) *principal {
	if !r.routes.keys {
		return nil
	}
	path, body := "/apps/"+r.home.key+"/keys", r.keyBody(c)
	return r.keyHolder(nil, "POST "+path+" "+written(body), r.home.key, r.must(r.t, "POST", path, body), true)
}

// keyBody returns the body for a key with the settings of a signing key.
func (r *round) keyBody(c credential) map[string]any {
	body := map[string]any{"name": r.name("key"), "account": c.account, "scope": c.scope}
	if len(c.accounts) > 0 {
		body["account"] = c.accounts[0]
	}
	if c.scope == nil {
		body["scope"] = []string{""}
	}
	if c.networks != nil {
		body["networks"] = c.networks
	}
	if soon := time.Now().Add(5 * time.Second); !c.notAfter.IsZero() && c.notAfter.Before(soon) {
		body["expires"] = instant(soon)
	} else if !c.notAfter.IsZero() {
		body["expires"] = instant(c.notAfter)
	}
	return body
}

// instant returns a time as bodies have it.
func instant(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// keyHolder returns the holder of the key in a reply, whose other members say what it may do.
func (r *round) keyHolder(maker *principal, how, clientKey string, got outcome, ok bool) *principal {
	if !ok || got.text("key") == "" {
		return nil
	}
	p := &principal{how: how, maker: maker, apiKey: true, token: got.text("key"), app: app{key: clientKey}, account: got.text("account"), scope: got.texts("scope"), networks: got.texts("networks")}
	if text := got.text("expires"); text != "" {
		ends, err := time.Parse(time.RFC3339, text)
		if err != nil {
			r.t.Error(err)
		}
		p.ends = ends
	}
	p.administrator = slices.Contains(r.rolesOf[p.account], administrator)
	return p
}

// texts returns a list in a reply, nil for none.
func (o outcome) texts(name string) []string {
	list, ok := o.member(name).([]any)
	if !ok {
		return nil
	}
	all := []string{}
	for _, one := range list {
		text, _ := one.(string)
		all = append(all, text)
	}
	return all
}

// dropKeys revokes the keys of the round's apps, because an account has at most a hundred.
func (r *round) dropKeys() {
	for _, p := range r.principals {
		if p.apiKey {
			id := p.token[strings.LastIndexByte(p.token, '_')+1:][:13]
			r.administer(r.t, "DELETE", "/apps/"+p.app.key+"/keys/"+id, nil)
		}
	}
}

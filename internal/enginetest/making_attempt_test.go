package enginetest

import (
	"cmp"
	"encoding/base64"
	"net/http"
)

// attempt is one way to make something. It returns the holder of what was made. It returns nil if
// the request was refused or if nobody holds the result.
type attempt struct {
	try       func(*round, *principal) *principal
	everybody int // weight for every principal
	admins    int // weight for administrators whose scope allows admin.update
}

var attempts = []attempt{
	{(*round).tryToken, 12, 12},
	{(*round).tryView, 2, 1},
	{(*round).tryRoute, 1, 1},
	{(*round).tryRunner, 1, 1},
	{(*round).tryMintAndRevoke, 1, 1},
	{(*round).tryOAuth, 1, 1},
	{(*round).tryKey, 2, 4},
	{(*round).tryOtherKey, 1, 2},
	{(*round).tryApp, 1, 4},
	{(*round).tryOwnApp, 1, 2},
	{(*round).tryShutApp, 1, 3},
	{(*round).trySecret, 1, 2},
	{(*round).tryAccount, 1, 3},
	{(*round).tryPromotion, 0, 1},
	{(*round).tryReactivation, 0, 1},
	{(*round).tryActivation, 0, 1},
	{(*round).tryFactor, 0, 1},
	{(*round).tryRole, 0, 2},
	{(*round).tryWiderRole, 0, 1},
	{(*round).trySettings, 0, 1},
}

// attempt lets a principal try to make something.
func (r *round) attempt(p *principal) *principal {
	weight := func(a attempt) int {
		if p.delegates() {
			return a.admins
		}
		return a.everybody
	}
	total := 0
	for _, a := range attempts {
		total += weight(a)
	}
	at := r.IntN(total)
	for _, a := range attempts {
		if at -= weight(a); at < 0 {
			return a.try(r, p)
		}
	}
	return nil
}

// try sends a request that makes something, and reports whether it was accepted.
func (r *round) try(p *principal, what, method, path string, body any) (outcome, bool) {
	return r.tryWish(what, p, func() wish { return p.wish(r.fleet, method, path, written(body)) })
}

func (r *round) tryWish(what string, p *principal, newWish func() wish) (outcome, bool) {
	r.tally.count(&r.tally.attempts)
	got := r.send(r.t, p.seen.from, newWish)
	if got.status != http.StatusOK {
		r.tally.countIn(r.tally.refused, got.code())
		return got, false
	}
	r.tally.countIn(r.tally.accepted, what)
	return got, true
}

func (r *round) tryToken(p *principal) *principal {
	key := r.home.key
	if p.token != "" {
		key = p.app.key
	}
	if r.IntN(4) == 0 {
		key = r.away.key
	}
	options, path := r.tokenOptions(p), "/apps/"+key+"/tokens"
	got, ok := r.try(p, "token", "POST", path, options)
	return r.bearerOf(p, "POST "+path+" "+written(options), got, ok)
}

// bearerOf returns the holder of the token in a reply.
func (r *round) bearerOf(maker *principal, how string, got outcome, ok bool) *principal {
	token, _ := got.result()["token"].(string)
	if !ok || token == "" {
		return nil
	}
	return r.newBearer(maker, how, token)
}

func (r *round) tryView(p *principal) *principal {
	const path = "/views/message_token"
	got, ok := r.try(p, "token of a view", "GET", path, nil)
	return r.bearerOf(p, "GET "+path, got, ok)
}

// createAuthToken are the arguments of the script.
func (r *round) createAuthToken(p *principal) map[string]any {
	options := r.tokenOptions(p)
	account := options["sub"]
	delete(options, "sub")
	return map[string]any{"clientKey": cmp.Or(p.app.key, r.home.key), "accountId": account, "options": options}
}

func (r *round) tryRoute(p *principal) *principal {
	const path = "/routes/createAuthToken"
	body := r.createAuthToken(p)
	got, ok := r.try(p, "token of a route", "POST", path, body)
	return r.bearerOf(p, "POST "+path+" "+written(body), got, ok)
}

func (r *round) tryRunner(p *principal) *principal {
	const path = "/sys/script_runner"
	body := map[string]any{"script": "createAuthToken", "arguments": r.createAuthToken(p)}
	got, ok := r.try(p, "token of a script", "POST", path, body)
	return r.bearerOf(p, "POST "+path+" "+written(body), got, ok)
}

// tryMintAndRevoke makes a token that no longer exists when the server answers. Only its account
// can then be checked.
func (r *round) tryMintAndRevoke(p *principal) *principal {
	const path = "/routes/mint_and_revoke"
	options := r.tokenOptions(p)
	options["app"] = cmp.Or(p.app.key, r.home.key)
	delete(options, "permanent")
	_, ok := r.try(p, "revoked token", "POST", path, options)
	if ok && options["sub"] != p.account && !p.delegates() {
		made := &principal{how: "POST " + path + " " + written(options), maker: p, minted: true}
		r.find(classOf(made), made, []string{"it is for another account"})
	}
	return nil
}

// tryOAuth requests a token with the secret of an app (RFC 6749, section 4.4).
func (r *round) tryOAuth(p *principal) *principal {
	if !p.signs() {
		return r.tryToken(p)
	}
	const path, body = "/oauth/token", "grant_type=client_credentials"
	basic := base64.StdEncoding.EncodeToString([]byte(p.app.key + ":" + p.app.secret))
	got, ok := r.tryWish("token of OAuth", p, func() wish {
		return wish{"POST", path, body, http.Header{
			"Authorization": {"Basic " + basic}, "Content-Type": {"application/x-www-form-urlencoded"},
		}}
	})
	token := got.text("access_token")
	if !ok || token == "" {
		return nil
	}
	return r.newBearer(p, "POST "+path, token)
}

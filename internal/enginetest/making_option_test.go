package enginetest

import (
	"slices"
	"time"
)

// The scopes to request.
var scopes = [][]string{
	{""}, {""}, {""}, {},
	{"admin.update"}, {"admin.update"}, {"admin.read"}, {"admin"}, {"admin", "object"}, {"admin", "object.read"},
	{"admin.update", "script"}, {"admin.update", "view", "object.read.c_message"},
	{"object"}, {"object.read.c_message"}, {"object.read.c_message.*.c_text"}, {"object.update.c_message"},
	{"object.update.c_message.*.c_text"}, {"object.create.c_message.*.c_text", "object.update.c_message.*.c_likes"},
	{"view.execute.messages"}, {"view.execute.message_token"}, {"view.execute.message_token", "object.read.c_message"},
	{"script.runner"}, {"script.route.mint_and_revoke"}, {"script", "view", "object.read"},
}

// narrower returns a scope that the other scope covers.
func (r *round) narrower(scope []string) []string {
	if scope == nil || slices.Contains(scope, "") {
		return one(r.random, scopes)
	}
	return scope[:r.IntN(len(scope)+1)]
}

// lives are lifetimes in seconds; 0: not given.
var lives = []int64{0, 0, 0, 2, 5, 60, 3600, 3600}

// subjects are the accounts that a token can be for.
func (r *round) subjects() []string {
	all := []string{r.chief, r.chief, r.hand, r.fresh}
	if reader := r.fleet.facts["reader_account_id"]; reader != "" {
		all = append(all, reader)
	}
	return all
}

// tokenOptions returns the options of a token that a maker requests. In half of the cases all
// options are within what it holds, in others only its scope and expiry, or none. The
// administrator, who is nil, requests anything.
func (r *round) tokenOptions(maker *principal) map[string]any {
	options := map[string]any{"sub": one(r.random, r.subjects()), "scope": one(r.random, scopes)}
	life := one(r.random, lives)
	switch r.IntN(5) {
	case 0:
		options["maxUses"] = 500
	case 1, 2:
		options["permanent"] = true
	}
	within := r.IntN(4)
	if maker == nil {
		within = 0
	}
	if within > 0 {
		options["scope"], life = r.narrower(maker.scope), r.withinEnd(maker, life)
	}
	if within > 1 {
		options["sub"] = maker.account
	} else {
		r.addPower(options)
	}
	if within > 1 && maker.networks != nil {
		delete(options, "permanent")
		delete(options, "maxUses")
	}
	if life > 0 {
		options["expiresIn"] = life
	}
	return options
}

// withinEnd returns a lifetime that ends before the maker's expiry. It is mostly no longer than
// that of an ephemeral token may be.
func (r *round) withinEnd(maker *principal, life int64) int64 {
	if life > int64(shortLife/time.Second) && r.IntN(3) > 0 {
		life = 60
	}
	if maker.ends.IsZero() {
		return life
	}
	left := max(1, int64(time.Until(maker.ends)/time.Second)-1)
	if life == 0 {
		return left
	}
	return min(life, left)
}

// powers are options that only administrators may request, with a few exceptions.
var powers = []struct {
	name   string
	values []any
}{
	{"roles", []any{[]string{administrator}, []string{member}, []string{administrator, member}}},
	{"grant", []any{4, 6, 7}},
	{"skipAcl", []any{true}},
	{"bypassCreateAcl", []any{true}},
	{"claims", []any{map[string]string{"tier": "gold"}}},
}

func (r *round) addPower(options map[string]any) {
	for _, power := range powers {
		if r.IntN(5) == 0 {
			options[power.name] = one(r.random, power.values)
		}
	}
}

// The networks that a credential is bound to. Nobody sends from the last one.
var networks = [][]string{nil, nil, nil, {"127.0.0.0/8"}, {"127.0.0.2/32"}, {"127.0.0.2/32"}, {"10.0.0.0/8"}}

// credential returns the settings of a signing key. Sometimes all are within what its maker holds,
// sometimes only its expiry and networks, sometimes none.
func (r *round) credential(maker *principal) credential {
	c := credential{account: one(r.random, r.subjects()), networks: one(r.random, networks)}
	if life := one(r.random, lives); life > 0 {
		c.notAfter = time.Now().Add(time.Duration(life) * time.Second)
	}
	if r.IntN(4) == 0 {
		c.scope = one(r.random, scopes)
	}
	within := r.IntN(3)
	if maker == nil {
		within = 0
	}
	if within > 0 {
		c.notAfter, c.networks = maker.ends, maker.networks
	}
	if within > 1 {
		c.account, c.scope = maker.account, maker.scope
	}
	if r.IntN(6) == 0 {
		c.account, c.accounts = "", []string{c.account}
	}
	return c
}

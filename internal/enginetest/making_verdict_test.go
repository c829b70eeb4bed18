package enginetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// class is a kind of finding: in what way something exceeds its maker.
type class string

const (
	narrowAdministrator class = "A1 a narrow token of an administrator mints for another account, or claims of its own"
	shortAdministrator  class = "A2 a limited token gets an app, a secret, an account, a role or a setting without these limits"
	boundKey            class = "A3 what a bound signing key made outlives it, works elsewhere or survives its app"
	pinnedRole          class = "A4 a token pins a role that its subject has"
	revokedMaker        class = "what a token made survives its revocation"
	refusedEnding       class = "a request that ends or narrows something is refused"
	anotherApp          class = "a token makes a token of another app than its own"
	otherExcess         class = "something else passes on more than its maker holds"
)

// classOf returns the class of something that exceeds its maker.
func classOf(made *principal) class {
	switch maker := made.maker; {
	case maker.signs():
		return boundKey
	case !made.minted:
		return shortAdministrator
	case maker.administrator && !maker.delegates():
		return narrowAdministrator
	}
	return otherExcess
}

// delegates reports whether the principal is an administrator whose scope allows admin.update. Such
// a principal may mint for another account, with claims, a grant, skip flags and roles that neither
// it nor the account has.
func (p *principal) delegates() bool { return p.seen.answers[administration] == passed }

// excess names each way in which something exceeds its maker, as seen before the maker's expiry.
func (p *principal) excess() (found []string) {
	if p.maker == nil {
		return nil
	}
	found = append(found, p.excessOfNetworks()...)
	found = append(found, p.excessOfProbes()...)
	found = append(found, p.excessOfTime()...)
	if p.maker.claims.Uses > 0 {
		found = append(found, "its maker is a limited-use token, which makes nothing")
	}
	return found
}

// isOfAnotherApp reports whether a token made it for another app than the token's own. Tokens of
// administrators must not do that either.
func (p *principal) isOfAnotherApp() bool {
	return p.maker != nil && p.maker.token != "" && (p.minted || p.apiKey) && p.app.key != p.maker.app.key
}

// shortLife is the longest lifetime of an ephemeral token whose maker has a jti or is bound to
// networks.
const shortLife = 15 * time.Minute

// excessOfNetworks compares from which addresses the two have access. Tokens cannot be bound to
// networks, so an ephemeral token with a short lifetime may work everywhere.
func (p *principal) excessOfNetworks() (found []string) {
	if p.minted && !p.isKept() && p.lastsAtMost(shortLife) {
		return nil
	}
	for from, reaches := range p.seen.reaches {
		if reaches && !p.maker.seen.reaches[from] {
			found = append(found, fmt.Sprintf("it is let in from 127.0.0.%d, its maker is not", from+1))
		}
	}
	return found
}

// lastsAtMost reports whether a token's lifetime is at most this long, with a tolerance of a
// second, because its times are whole seconds.
func (p *principal) lastsAtMost(most time.Duration) bool {
	issued := time.Unix(p.claims.Issued, 0)
	return !p.ends.IsZero() && !p.ends.After(issued.Add(most+time.Second))
}

// excessOfProbes compares what the two may do.
func (p *principal) excessOfProbes() (found []string) {
	byAccount := !p.standIn && !p.maker.delegates() // otherwise it may act as another account
	if byAccount && p.seen.account != "" && p.seen.account != p.maker.seen.account {
		found = append(found, "it acts as another account")
	}
	if byAccount && p.claims.Tier != "" && p.maker.claims.Tier == "" {
		found = append(found, "it has a claim of its maker's own")
	}
	for _, probe := range probes {
		own, makers := p.seen.answers[probe.name], p.maker.seen.answers[probe.name]
		if own != passed || makers == passed || makers == denied && !byAccount {
			continue
		}
		found = append(found, fmt.Sprintf("it passes %q, its maker does not: %s", probe.name, p.maker.seen.codes[probe.name]))
	}
	return found
}

// excessOfTime compares the stated expiries, which may be too far away to wait for.
func (p *principal) excessOfTime() (found []string) {
	if end := p.maker.ends; !end.IsZero() && (p.ends.IsZero() || p.ends.After(end.Add(time.Second))) {
		found = append(found, fmt.Sprintf("it ends %s, its maker %s", endText(p.ends), endText(end)))
	}
	return found
}

// outlastsRevocation reports whether the principal is an ephemeral token with a long lifetime,
// which the revocation of its maker does not end.
func (p *principal) outlastsRevocation() bool {
	return p.maker != nil && p.minted && !p.isKept() && (p.maker.isKept() || p.maker.apiKey) && !p.lastsAtMost(shortLife)
}

func endText(at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return at.UTC().Format(time.TimeOnly)
}

// TestMakingVerdicts tests the judgement itself, which finds nothing in a server that keeps the
// rule.
func TestMakingVerdicts(t *testing.T) {
	const read = "GET /c_messages"
	now := time.Now().Truncate(time.Second)
	everywhere := [2]bool{true, true}
	seen := func(answers map[string]answer) record {
		return record{account: "ann", reaches: everywhere, answers: answers}
	}
	narrow := principal{token: "t", administrator: true, seen: seen(map[string]answer{administration: refused, read: refused})}
	admin := principal{token: "t", administrator: true, seen: seen(map[string]answer{administration: passed, read: denied})}
	short := principal{token: "t", seen: seen(nil), ends: now.Add(time.Minute)}
	key := principal{app: app{secret: "s"}, seen: record{account: "ann", reaches: [2]bool{false, true}}}
	kept := principal{token: "t", seen: seen(nil), claims: tokenClaims{ID: "1"}}
	limited := principal{token: "t", seen: seen(nil), claims: tokenClaims{ID: "1", Uses: 5}}
	ephemeral := func(life time.Duration) principal {
		return principal{minted: true, token: "t", seen: seen(nil), claims: tokenClaims{Issued: now.Unix()}, ends: now.Add(life)}
	}
	reader := seen(map[string]answer{read: passed})
	ben := record{account: "ben", reaches: everywhere}
	for name, c := range map[string]struct {
		maker, made principal
		want        []class
	}{
		"as much as its maker":                          {kept, principal{minted: true, claims: kept.claims, seen: seen(nil)}, nil},
		"another account, by a narrow administrator":    {narrow, principal{minted: true, seen: ben}, []class{narrowAdministrator}},
		"another account, by an administrator":          {admin, principal{minted: true, seen: ben}, nil},
		"own claims, by a narrow administrator":         {narrow, principal{minted: true, claims: tokenClaims{Tier: "gold"}}, []class{narrowAdministrator}},
		"own claims, by an administrator":               {admin, principal{minted: true, claims: tokenClaims{Tier: "gold"}}, nil},
		"an app with more than the maker's scope":       {narrow, principal{seen: reader}, []class{shortAdministrator}},
		"what a role lets it do, by an administrator":   {admin, principal{minted: true, seen: reader}, nil},
		"an app that never ends":                        {short, principal{seen: seen(nil)}, []class{shortAdministrator}},
		"an app that ends with its maker":               {short, principal{seen: seen(nil), ends: short.ends}, nil},
		"a kept token that works elsewhere":             {key, principal{minted: true, claims: kept.claims, seen: seen(nil)}, []class{boundKey}},
		"an ephemeral token that works elsewhere":       {key, ephemeral(shortLife), nil},
		"one with a long life that works elsewhere":     {key, ephemeral(time.Hour), []class{boundKey}},
		"an ephemeral token with a long life":           {kept, ephemeral(time.Hour), []class{revokedMaker}},
		"a token of another app":                        {kept, principal{minted: true, app: app{key: "k"}, claims: kept.claims, seen: seen(nil)}, []class{anotherApp}},
		"a key of another app":                          {principal{apiKey: true, token: "t", app: app{key: "j"}, seen: seen(nil)}, principal{apiKey: true, app: app{key: "k"}, seen: seen(nil)}, []class{anotherApp}},
		"what a key made, with a long life":             {principal{apiKey: true, token: "t", seen: seen(nil)}, ephemeral(time.Hour), []class{revokedMaker}},
		"anything by a limited-use token":               {limited, ephemeral(shortLife), []class{otherExcess}},
		"more than the scope of a maker without a role": {short, principal{minted: true, seen: reader, ends: short.ends}, []class{otherExcess}},
	} {
		t.Run(name, func(t *testing.T) {
			r := &round{findings: make(map[finding][]string)}
			c.made.maker = &c.maker
			r.judge(&c.made)
			var got []class
			for found := range r.findings {
				got = append(got, found.class)
			}
			slices.Sort(got)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s%v", diff, r.findings)
			}
		})
	}
}

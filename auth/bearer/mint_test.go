package bearer_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/scope"
	"github.com/tenantkit/tenantkit/token"
)

// payload returns the claims of a token, parsed without package token.
func payload(t testing.TB, raw string) (claims map[string]any) {
	t.Helper()
	text, err := base64.RawURLEncoding.DecodeString(strings.Split(raw, ".")[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &claims); err != nil {
		t.Fatal(err)
	}
	return claims
}

func TestMintedKinds(t *testing.T) {
	for _, c := range []struct {
		name    string
		wish    bearer.Wish
		lasts   time.Duration // 0: no end
		id      bool
		maxUses int64
	}{
		{"ephemeral", wish("ann"), 15 * time.Minute, false, 0},
		{"ephemeral, until a time", wish("ann", until(noon.Add(time.Hour))), time.Hour, false, 0},
		{"permanent", wish("ann", permanent), 0, true, 0},
		{"permanent, until a time", wish("ann", permanent, until(noon.Add(time.Hour))), time.Hour, true, 0},
		{"limited-use", wish("ann", uses(3)), 0, true, 3},
		{"limited-use, until a time", wish("ann", uses(1), until(noon.Add(time.Hour))), time.Hour, true, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMinting(t)
			raw, claims, err := m.try(t, session("ann"), c.wish)
			if err != nil {
				t.Fatal(err)
			}
			var ends time.Time
			if c.lasts > 0 {
				ends = noon.Add(c.lasts)
			}
			if !claims.Expires.Equal(ends) || !claims.IssuedAt.Equal(noon) || (claims.ID != "") != c.id || claims.MaxUses != c.maxUses {
				t.Errorf("claims %+v", claims)
			}
			if n := len(m.records(t)); (n == 1) != c.id {
				t.Errorf("%d records", n)
			}
			p := m.holder(t, raw)
			if p.TokenID != claims.ID || p.Limited != (c.maxUses > 0) || !p.Expires.Equal(ends) {
				t.Errorf("principal %+v", p)
			}
			if c.lasts > 0 {
				m.clock.Advance(c.lasts)
				want(t, m.me(t, raw), 401, "expired.jwt")
			}
		})
	}
}

// Mint returns the claims that were signed.
func TestMintReturnsWhatItSigned(t *testing.T) {
	m := newMinting(t)
	w := wish("ann", permanent, roles("editor", "member"), until(noon.Add(time.Hour+time.Millisecond)), func(w *bearer.Wish) {
		w.Issuer, w.NotBefore = appB, noon.Add(time.Second+time.Nanosecond)
		w.Grant, w.SkipACL, w.SkipCreateACL = 4, true, true
		w.Extra = map[string]json.RawMessage{"groups": []byte(`["staff"]`)}
	})
	raw, claims, err := m.try(t, session("root"), w)
	if err != nil {
		t.Fatal(err)
	}
	written := map[string]any{"iss": appB, "sub": "ann", "aud": "https://api.example.test/acme/v2", "jti": claims.ID,
		"iat": float64(noon.Unix()), "nbf": float64(noon.Unix() + 1), "exp": float64(noon.Unix() + 3600), "groups": []any{"staff"},
		"service/scp": []any{""}, "service/rls": []any{"editor"}, "service/gnt": 4.0, "service/skp": true, "service/skc": true}
	if diff := cmp.Diff(written, payload(t, raw)); diff != "" {
		t.Errorf("signed (-want +got):\n%s", diff)
	}
	returned := token.Claims{Issuer: appB, Subject: "ann", Audience: "https://api.example.test/acme/v2", ID: claims.ID,
		IssuedAt: noon, NotBefore: noon.Add(time.Second), Expires: noon.Add(time.Hour), Scope: []string{""}, Roles: []string{"editor"},
		Grant: 4, SkipACL: true, SkipCreateACL: true, Extra: w.Extra}
	if diff := cmp.Diff(returned, claims); diff != "" {
		t.Errorf("returned (-want +got):\n%s", diff)
	}
}

func TestWhatAWishLeavesOut(t *testing.T) {
	ends := func(d time.Duration) func(*auth.Principal) {
		return func(p *auth.Principal) { p.Expires = noon.Add(d) }
	}
	bound := func(p *auth.Principal) { p.Networks = nets("192.0.2.0/24") }
	for _, c := range []struct {
		name  string
		by    auth.Principal
		wish  bearer.Wish
		app   string
		lasts time.Duration
	}{
		{"of the signature's app", signed("ann", appB), wish("ann", of("")), appB, 15 * time.Minute},
		{"of the app that is named", session("ann"), wish("ann"), appA, 15 * time.Minute},
		{"until the signature ends", changed(signed("ann", appA), ends(time.Minute)), wish("ann", of("")), appA, time.Minute},
		{"15 minutes by a signature that ends later", changed(signed("ann", appA), ends(time.Hour)), wish("ann", of("")), appA, 15 * time.Minute},
		{"15 minutes by a signature of one network", changed(signed("ann", appA), bound), wish("ann", of("")), appA, 15 * time.Minute},
		{"a permanent one never ends", signed("ann", appA), wish("ann", of(""), permanent), appA, 0},
		{"a limited-use one never ends", signed("ann", appA), wish("ann", of(""), uses(1)), appA, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMinting(t)
			_, claims, err := m.try(t, c.by, c.wish)
			if err != nil {
				t.Fatal(err)
			}
			var ends time.Time
			if c.lasts > 0 {
				ends = noon.Add(c.lasts)
			}
			if claims.Issuer != c.app || claims.Audience != "https://api.example.test/acme/v2" || !claims.Expires.Equal(ends) {
				t.Errorf("claims %+v", claims)
			}
		})
	}
	t.Run("of the token's app, until the token ends", func(t *testing.T) {
		m := newMinting(t)
		by := m.holder(t, m.mint(t, session("root"), wish("ann", of(appB), until(noon.Add(time.Minute)))))
		_, claims, err := m.try(t, by, wish("ann", of("")))
		if err != nil || claims.Issuer != appB || !claims.Expires.Equal(noon.Add(time.Minute)) {
			t.Errorf("claims %+v, %v", claims, err)
		}
	})
}

// Mint reads the clock once. It signs what it decided, however long the directory takes.
func TestMintDecidesAndSignsAsOfOneTime(t *testing.T) {
	m := newMinting(t)
	m.now = func() time.Time { return m.clock.Advance(time.Hour) }
	now := noon.Add(time.Hour)
	for name, w := range map[string]bearer.Wish{"ephemeral": wish("ann"), "permanent": wish("ann", permanent)} {
		_, claims, err := m.try(t, session("ann"), w)
		if err != nil || !claims.IssuedAt.Equal(now) || !m.clock.Now().Equal(now) {
			t.Errorf("%s: iat %v at %v, %v", name, claims.IssuedAt, m.clock.Now(), err)
		}
		now = now.Add(time.Hour)
	}
}

// An end in the past is different from a missing end.
func TestM03AnEndThatHasComeIsNotTheDefault(t *testing.T) {
	ended := func(p *auth.Principal) { p.Expires = noon }
	for _, c := range []struct {
		name string
		by   auth.Principal
		wish bearer.Wish
	}{
		{"M03 the signature's, at its last moment", changed(signed("ann", appA), ended), wish("ann")},
		{"M03 the signature's, named in the wish", changed(signed("ann", appA), ended), wish("ann", until(noon))},
		{"M03 the wish's", session("ann"), wish("ann", until(noon))},
		{"M03 the wish's, a moment ago", session("ann"), wish("ann", until(noon.Add(-1)))},
		{"M03 the wish's, in a part of a second", session("ann"), wish("ann", until(noon.Add(time.Second-1)))},
		{"M03 of a permanent one", session("ann"), wish("ann", permanent, until(noon))},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMinting(t)
			_, claims, err := m.try(t, c.by, c.wish)
			if fault, ok := errors.AsType[*auth.Error](err); !ok || fault.Detail != auth.DetailOption {
				t.Errorf("minted until %v: %v", claims.Expires, err)
			}
		})
	}
}

// keyless fails for each app.
type keyless struct{ err error }

func (k keyless) Signer(context.Context, string) (*token.KeyPair, error) {
	return nil, k.err
}

// downed is a ledger and a store of key pairs that do not answer.
type downed struct{ token.Ledger }

func (downed) Signer(context.Context, string) (*token.KeyPair, error) {
	return nil, http.ErrServerClosed
}

func (downed) Issue(context.Context, token.Record, []string, int) error { return http.ErrServerClosed }

// A refused wish has a detail from the table of faults, and leaves no record.
func TestMintRefusals(t *testing.T) {
	root := session("root")
	nothing := func(*minting) {}
	for _, c := range []struct {
		name           string
		by             auth.Principal
		wish           bearer.Wish
		alter          func(*minting)
		status         int
		detail, reason string
		paths          string
	}{
		{"a ttl that is too long", root, wish("ann", until(noon.Add(25*time.Hour))), nothing, 400, auth.DetailOption, "an ephemeral token lasts between 1 second and 24 hours", ""},
		{"an end before the beginning", root, wish("ann", permanent, until(noon.Add(time.Hour)), func(w *bearer.Wish) { w.NotBefore = noon.Add(2 * time.Hour) }), nothing, 400, auth.DetailOption, "the token would end before it begins", ""},
		{"a session that names no app", root, wish("ann", of("")), nothing, 400, auth.DetailOption, "iss is not a client key", ""},
		{"a claim with a name of ours", root, wish("ann", func(w *bearer.Wish) { w.Extra = map[string]json.RawMessage{"SUB": []byte(`"root"`)} }), nothing, 400, auth.DetailOption, "", ""},
		{"a level that is none", root, wish("ann", func(w *bearer.Wish) { w.Grant = 99 }), nothing, 400, auth.DetailOption, "", ""},
		{"an id of one's own", root, wish("ann", permanent, func(w *bearer.Wish) { w.ID = "mine" }), nothing, 400, auth.DetailOption, "jti is the Minter's to set", ""},
		{"a negative number of uses", root, wish("ann", uses(-1)), nothing, 400, auth.DetailOption, "", ""},
		{"more uses than can be counted", root, wish("ann", uses(1<<53)), nothing, 400, auth.DetailOption, "", ""},
		{"permanent, with a number of uses", root, wish("ann", permanent, uses(3)), nothing, 400, auth.DetailOption, "a permanent token has no use count", "maxUses"},
		{"65 roles", root, wish("ann", func(w *bearer.Wish) { w.Roles = make([]string, 65) }), nothing, 400, auth.DetailOption, "at most 64", "roles"},
		{"a role that no token can hold", session("ann"), wish("ann", roles(strings.Repeat("x", 513))), nothing, 400, auth.DetailOption, "at most 512 bytes each", "roles"},
		{"for another environment", root, wish("ann", func(w *bearer.Wish) { w.Audience = "https://api.example.test/acme/v1" }), nothing, 400, auth.DetailOption, "", "aud"},
		{"a chain that does not parse", root, wish("ann", permanent, chains("view", "object.raed")), nothing, 400, auth.DetailInvalidScope, "", "scope[1]"},
		{"chains that can match nothing", root, wish("ann", chains("deployment.create", "view", "object.create.c_note."+note)), nothing, 400, auth.DetailInvalidScope, "", "scope[0] scope[2]"},
		{"a chain that the Minter does not know", root, wish("ann", permanent, chains("view", "report.run")), nothing, 400, auth.DetailInvalidScope, "", "scope[1]"},
		{"an app that is not there", root, wish("ann", of("acmeKey000000000000009")), nothing, 404, auth.DetailUnknownApp, "", ""},
		{"an app of another org", root, wish("ann", permanent, of(appG)), nothing, 404, auth.DetailUnknownApp, "", ""},
		{"an app that is disabled", root, wish("ann", of(appB)), func(m *minting) {
			m.directory.PutApp(auth.App{ClientKey: appB, Org: "acme", Disabled: true})
		}, 404, auth.DetailUnknownApp, "", ""},
		{"a subject that is disabled", root, wish("off", permanent), nothing, 404, auth.DetailNotFound, "", "sub"},
		{"a role that is unknown", root, wish("ann", permanent, roles("emperor")), nothing, 404, auth.DetailNotFound, "", "roles"},
		{"an app without a key pair", root, wish("ann", permanent), func(m *minting) { m.mechanism.Signers = keyless{token.ErrNoKeyPair} }, 404, auth.DetailNoKeyPair, "", ""},
		{"a store of key pairs that fails, with an error that reads like no key pair", root, wish("ann"), func(m *minting) {
			m.mechanism.Signers = keyless{errors.Join(auth.ErrUnavailable, token.ErrNoKeyPair)}
		}, 503, auth.DetailUnavailable, "", ""},
		{"a store of key pairs that does not answer", root, wish("ann"), func(m *minting) { m.mechanism.Signers = downed{} }, 503, auth.DetailUnavailable, "", ""},
		{"a ledger that does not answer", root, wish("ann", permanent), func(m *minting) { m.mechanism.Ledger = downed{} }, 503, auth.DetailUnavailable, "", ""},
		{"a limited-use token, likewise", root, wish("ann", uses(1)), func(m *minting) { m.mechanism.Ledger = downed{} }, 503, auth.DetailUnavailable, "", ""},
		{"no ledger at all", root, wish("ann", permanent), func(m *minting) { m.mechanism.Ledger = nil }, 503, auth.DetailUnavailable, "", ""},
		{"a directory that does not answer for the app", root, wish("ann", permanent), func(m *minting) { m.guard.Directory = without{m.directory, appA} }, 503, auth.DetailUnavailable, "", ""},
		{"a directory that does not answer for the subject", root, wish("ann", permanent), func(m *minting) { m.guard.Directory = without{m.directory, "ann"} }, 503, auth.DetailUnavailable, "", ""},
		{"a directory that does not answer for the maker", root, wish("ann", permanent), func(m *minting) { m.guard.Directory = without{m.directory, "root"} }, 503, auth.DetailUnavailable, "", ""},
		{"a directory that does not answer for roles", root, wish("ann", permanent, roles("editor")), func(m *minting) { m.guard.Directory = withoutRoles{m.directory} }, 503, auth.DetailUnavailable, "", ""},
		{"a maker that is disabled since", session("off"), wish("off", permanent), nothing, 404, auth.DetailNotFound, "", ""},
		{"M01 for another account", session("ann"), wish("root", permanent), nothing, 403, auth.DetailDelegation, "", "sub"},
		{"M01 everything, by a narrow signature", changed(signed("root", appA), func(p *auth.Principal) { p.Granted = scope.Set{} }), wish("ann", permanent), nothing, 403, auth.DetailDelegation, "", "sub"},
		{"another org's principal", changed(session("ann"), func(p *auth.Principal) { p.Org = "globex" }), wish("ann", permanent), nothing, 403, auth.DetailDelegation, "", "sub"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMinting(t)
			c.alter(m)
			asked := 0
			m.mechanism.Signers = countingSigners{m.mechanism.Signers, &asked}
			signed, claims, err := m.try(t, c.by, c.wish)
			if asked > 1 {
				t.Errorf("asked for %d signatures", asked)
			}
			if signed != "" || !cmp.Equal(claims, token.Claims{}) {
				t.Errorf("minted %+v", claims)
			}
			rec := httptest.NewRecorder()
			auth.Fail(rec, httptest.NewRequest("POST", "/", nil), err)
			if rec.Code != c.status || !strings.Contains(rec.Body.String(), `"errCode":"service.`+c.detail+`"`) {
				t.Errorf("got %d %s", rec.Code, rec.Body)
			}
			if reason, paths := told(err); c.reason != "" && reason != c.reason || paths != c.paths {
				t.Errorf("reason %q, paths %q: %v", reason, paths, err)
			}
			if records := m.records(t); len(records) > 0 {
				t.Errorf("it left %+v", records)
			}
		})
	}
}

func isBeyond(err error) bool {
	e, ok := errors.AsType[*auth.Error](err)
	return ok && e.Detail == auth.DetailDelegation
}

// told returns what an error says to the client: its reason, and its path or those of its
// children.
func told(err error) (reason, paths string) {
	e, ok := errors.AsType[*auth.Error](err)
	if !ok {
		return "", ""
	}
	list := []string{}
	for _, child := range e.Faults {
		list = append(list, child.Path)
	}
	if e.Path != "" {
		list = append(list, e.Path)
	}
	return e.Reason, strings.Join(list, " ")
}

// countingSigners counts the requests for a key to sign with.
type countingSigners struct {
	token.Signers
	asked *int
}

func (c countingSigners) Signer(ctx context.Context, clientKey string) (*token.KeyPair, error) {
	*c.asked++
	return c.Signers.Signer(ctx, clientKey)
}

// One token too many is signed only once, before the ledger is asked.
func TestBudgetOfTooManyTokens(t *testing.T) {
	m, asked := newMinting(t), 0
	m.mechanism.Signers, m.mechanism.PerSubject = countingSigners{m.mechanism.Signers, &asked}, 1
	m.mint(t, session("ann"), wish("ann", permanent))
	asked = 0
	_, _, err := m.try(t, session("ann"), wish("ann", permanent))
	if fault, ok := errors.AsType[*auth.Error](err); !ok || fault.Detail != auth.DetailTooManyTokens {
		t.Error(err)
	}
	if n := len(m.records(t)); asked != 1 || n != 1 {
		t.Errorf("%d signatures, %d records", asked, n)
	}
}

// A refused wish costs no signature: Mint asks neither the keys nor the ledger.
func TestBudgetOfRefusedDelegations(t *testing.T) {
	m := newMinting(t)
	m.mechanism.Signers, m.mechanism.Ledger = downed{}, downed{}
	for name, w := range map[string]bearer.Wish{
		"ephemeral": wish("root"), "permanent": wish("root", permanent), "of one use": wish("root", uses(1)),
	} {
		_, _, err := m.try(t, session("ann"), w)
		if !isBeyond(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := m.try(t, session("ann"), wish("ann")); !errors.Is(err, auth.ErrUnavailable) {
		t.Errorf("one that may be minted: %v", err)
	}
}

func TestMintTooMany(t *testing.T) {
	m := newMinting(t)
	m.mechanism.PerSubject = 2
	for _, w := range []bearer.Wish{wish("ann", permanent), wish("ann", uses(1))} {
		m.mint(t, session("ann"), w)
	}
	for name, w := range map[string]bearer.Wish{"permanent": wish("ann", permanent), "limited-use": wish("ann", uses(1))} {
		_, _, err := m.try(t, session("ann"), w)
		if fault, ok := errors.AsType[*auth.Error](err); !ok || fault.Detail != auth.DetailTooManyTokens {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := len(m.records(t)); n != 2 {
		t.Errorf("%d records", n)
	}
	m.mint(t, session("ann"), wish("ann")) // an ephemeral token does not count
	m.mint(t, session("root"), wish("ann", permanent, of(appB)))
}

// A token names only the roles that it adds to its subject's. It must not keep a role that its
// subject loses.
func TestM05OwnRolesAreLeftOut(t *testing.T) {
	for _, c := range []struct {
		name    string
		by      auth.Principal
		wish    bearer.Wish
		rls     []any // of the token
		after   []string
		missing string // a role that the request must not have after ann lost her roles
	}{
		{"M05 one's own", session("ann"), wish("ann", roles("member")), nil, nil, "member"},
		{"M05 one's own, twice", session("ann"), wish("ann", roles("member", "member")), nil, nil, "member"},
		{"M05 by a signature", signed("ann", appA), wish("ann", permanent, roles("member")), nil, nil, "member"},
		{"M05 by an administrator", session("root"), wish("ann", permanent, roles("member")), nil, nil, "member"},
		{"M05 beside another", session("root"), wish("ann", roles("member", "editor")), []any{"editor"}, []string{"editor"}, "member"},
		{"another one, twice", session("root"), wish("ann", roles("editor", "editor")), []any{"editor"}, []string{"editor"}, "member"},
		{"the maker's own is the subject's other", session("root"), wish("ann", roles("administrator")), []any{"administrator"}, []string{"administrator"}, "member"},
		{"none", session("ann"), wish("ann"), nil, nil, "member"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMinting(t)
			raw := m.mint(t, c.by, c.wish)
			var rls []any
			if said, ok := payload(t, raw)["service/rls"]; ok {
				rls = said.([]any)
			}
			if diff := cmp.Diff(c.rls, rls); diff != "" {
				t.Errorf("rls (-want +got):\n%s", diff)
			}
			if p := m.holder(t, raw); !p.HasRole("member") {
				t.Errorf("the subject's own are missing: %v", p.Roles)
			}
			m.directory.PutAccount(auth.Account{ID: "ann", Org: "acme"})
			if p := m.holder(t, raw); p.HasRole(c.missing) || !slices.Equal(p.Roles, c.after) {
				t.Errorf("it keeps %v", p.Roles)
			}
		})
	}
}

// A token may add a role that its holder has received since. What that token mints omits the
// role, too.
func TestM05AChildPinsNoRole(t *testing.T) {
	m := newMinting(t)
	m.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Roles: []string{"editor"}})
	parent := m.holder(t, m.mint(t, session("ann"), wish("ann", permanent, roles("editor"))))
	child := m.mint(t, parent, wish("ann", permanent, roles("editor")))
	m.directory.PutAccount(auth.Account{ID: "ann", Org: "acme"})
	if p := m.holder(t, child); len(p.Roles) > 0 {
		t.Errorf("M05 it keeps %v", p.Roles)
	}
	if _, _, err := m.try(t, parent, wish("ann", permanent, roles("editor"))); err == nil {
		t.Error("M05 a role that the parent's request still had was minted after it was lost")
	}
}

// Roles are read when a token is used, not when it is minted. What a role gains later, all tokens
// of its holders gain, as the holders do. Only where claims are a ceiling does a claim limit it.
func TestM16RolesThatGainChains(t *testing.T) {
	update := scope.Object(scope.Update, "c_note", "", "")
	narrow := func(p *auth.Principal) { p.Granted = compile(t, "object.read") }
	for _, c := range []struct {
		name    string
		ceiling bool
		wish    bearer.Wish
		gains   bool
	}{
		{"M16 a role of the subject", false, wish("ann", chains("object.read")), true},
		{"M16 a role of the subject, no scope", false, wish("ann", chains()), true},
		{"M16 under a ceiling", true, wish("ann", chains("object.read")), false},
		{"M16 under a ceiling that permits nothing", true, wish("ann", chains([]string{}...)), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMinting(t, func(w *world) { w.guard.Ceiling = c.ceiling })
			raw := m.mint(t, changed(signed("ann", appA), narrow), c.wish)
			if m.holder(t, raw).Scope.Allows(update) {
				t.Error("it may update already")
			}
			m.directory.PutRole("acme", auth.Role{Name: "member", Scope: []string{"object.update"}})
			p := m.holder(t, raw)
			if p.Scope.Allows(update) != c.gains || p.Granted.Allows(update) != c.gains {
				t.Errorf("it may update: %v, and pass it on: %v", p.Scope.Allows(update), p.Granted.Allows(update))
			}
			// A new token is limited to what its maker may do now, with the role as it is.
			if _, _, err := m.try(t, changed(signed("ann", appA), narrow), c.wish); (err != nil) != c.gains {
				t.Errorf("a narrow key mints what exceeds it by a role: %v", err)
			}
		})
	}
}

// A ceiling limits a token by its claim. It limits a token without a claim only by its roles.
func TestM16UnderACeilingATokenMintsNoneWithoutAClaim(t *testing.T) {
	update := scope.Object(scope.Update, "c_note", "", "")
	m := newMinting(t, func(w *world) { w.guard.Ceiling = true })
	parent := m.mint(t, session("ann"), wish("ann", permanent, chains("object.read")))
	child := m.mint(t, m.holder(t, parent), wish("ann", permanent, chains()))
	m.directory.PutRole("acme", auth.Role{Name: "member", Scope: []string{"object.update"}})
	if m.holder(t, child).Scope.Allows(update) && !m.holder(t, parent).Scope.Allows(update) {
		t.Error("M16 the child may update, and its maker may not")
	}
}

// Under a ceiling, what a token may do is also what counts when it is minted: a narrow token of an
// account with wide roles makes its like.
func TestM23UnderACeilingANarrowTokenMakesItsLike(t *testing.T) {
	m := newMinting(t, func(w *world) { w.guard.Ceiling = true })
	m.directory.PutRole("acme", auth.Role{Name: "member", Scope: []string{"object"}})
	device := m.holder(t, m.mint(t, session("ann"), wish("ann", permanent, chains("object.read.c_note"))))
	if like := m.holder(t, m.mint(t, device, wish("ann", chains("object.read.c_note")))); !like.Scope.Allows(scope.Object(scope.Read, "c_note", "", "")) {
		t.Error("its like may not read")
	}
	for name, w := range map[string]bearer.Wish{
		"M23 a chain of the role beyond the claim": wish("ann", chains("object.update")),
		"M23 everything": wish("ann", chains("")),
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := m.try(t, device, w); !isBeyond(err) {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("M23 no claim, which would be all of the role", func(t *testing.T) {
		if p := m.holder(t, m.mint(t, device, wish("ann", chains()))); p.Scope.Overlaps(scope.Object(scope.Read, "c_note", "", "")) {
			t.Error("it may read")
		}
	})
	set, err := bearer.Effective(t.Context(), m.tenant, token.Claims{Subject: "ann", Scope: []string{"object.read.c_note"}})
	if err != nil || set.Allows(scope.Object(scope.Update, "c_note", "", "")) {
		t.Errorf("Effective exceeds the claim: %v", err)
	}
}

// A scope that no token can hold is refused before any of its chains costs work.
func TestM24AScopeThatNoTokenHolds(t *testing.T) {
	m := newMinting(t)
	var list []string
	for i := range 980 {
		list = append(list, fmt.Sprintf("object.read.c_note.*%s.p%d", strings.Repeat(".property_of_note", 26), i))
	}
	var err error
	allocations := testing.AllocsPerRun(1, func() { _, _, err = m.try(t, session("ann"), wish("ann", chains(list...))) })
	var fault *auth.Error
	if !errors.As(err, &fault) || fault.Detail != auth.DetailInvalidScope || fault.Path != "scope" {
		t.Errorf("got %v", err)
	}
	t.Logf("%d chains of %d bytes: %.0f allocations", len(list), len(list[0]), allocations)
	if allocations > 50 {
		t.Errorf("it takes %.0f allocations", allocations)
	}
}

// MintIn signs with the pairs and records in the ledger that it is given, and in no other.
func TestMintInAnotherLedger(t *testing.T) {
	m := newMinting(t)
	elsewhere := token.NewMemoryLedger(m.now)
	raw, claims, err := m.mechanism.MintIn(t.Context(), elsewhere, m.mechanism.Signers, session("ann"), m.tenant, wish("ann", permanent))
	if err != nil {
		t.Fatal(err)
	}
	if got := m.records(t); len(got) > 0 {
		t.Errorf("the mechanism's own ledger has %v", got)
	}
	if got := m.me(t, string(raw)); got.status != 401 {
		t.Errorf("before it is in the ledger: %d", got.status)
	}
	if _, err := elsewhere.Get(t.Context(), heldBy(appA, "ann"), claims.ID); err != nil {
		t.Error(err)
	}
	for range 9 { // the limit counts there, too
		m.mechanism.MintIn(t.Context(), elsewhere, m.mechanism.Signers, session("ann"), m.tenant, wish("ann", permanent))
	}
	_, _, err = m.mechanism.MintIn(t.Context(), elsewhere, m.mechanism.Signers, session("ann"), m.tenant, wish("ann", permanent))
	if refused, ok := errors.AsType[*auth.Error](err); !ok || refused.Detail != auth.DetailTooManyTokens {
		t.Errorf("the eleventh: %v", err)
	}
	if _, _, err := m.mechanism.MintIn(t.Context(), elsewhere, new(token.MemoryKeys), session("ann"), m.tenant, wish("ann")); err == nil {
		t.Error("signed with a pair that the Signers do not have")
	}
	beyond := session("ann")
	beyond.Granted = scope.Set{}
	if _, _, err := m.mechanism.MintIn(t.Context(), token.NewMemoryLedger(nil), m.mechanism.Signers, beyond, m.tenant, wish("ann")); !isBeyond(err) {
		t.Errorf("more than its maker: %v", err)
	}
}

package apikey_test

import (
	"context"
	"crypto"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/apikey"
	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/auth/issuer"
	"github.com/tenantkit/tenantkit/auth/openapi"
	"github.com/tenantkit/tenantkit/token"
)

func TestMechanismKeepsTheContract(t *testing.T) {
	w := newWorld(t)
	with := func(key string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+key) }
	}
	key, _ := w.make(t, func(g *apikey.Grant) {
		g.App, g.Expires, g.Uses, g.Networks = app, noon.Add(time.Hour), 1e9, []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}
	})
	ended, _ := w.make(t, func(g *apikey.Grant) { g.Expires = noon.Add(time.Minute) })
	elsewhere, _ := w.make(t, func(g *apikey.Grant) { g.Networks = []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")} })
	disabled, record := w.make(t, nil)
	if err := w.mechanism.Keys().Restrict(t.Context(), session("ann"), w.tenant, record.ID, func(r *apikey.Record) error { r.Disabled = true; return nil }); err != nil {
		t.Fatal(err)
	}
	usedUp, record := w.make(t, func(g *apikey.Grant) { g.Uses = 1 })
	if err := w.store.Use(t.Context(), record.ID, noon, netip.Prefix{}); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(2 * time.Minute)
	recorded := func() int { return int(w.store.uses.Load()) }
	authtest.CheckMechanism(t, authtest.Candidate{
		Mechanism: w.mechanism, Directory: directory(), Org: "acme", Present: with(key),
		Refused: map[string]func(*http.Request){
			"never issued": with(string(w.mechanism.Formats[0].Random())), "another secret": with(withSecret(key)),
			"another prefix of ours": with(withPrefix(key, "acme_test")), "another deployment's": with(withPrefix(key, "globex_live")),
			"malformed": with(key[:40]), "ended": with(ended), "disabled": with(disabled), "used up": with(usedUp), "from elsewhere": with(elsewhere),
		},
		Records: recorded, Break: w.store.away.Store, Ends: true,
		Configure: func(g *auth.Guard) { g.Now = w.clock.Now },
	})
}

// checked returns a text with the right checksum, made as in the known answers.
func checked(text string) string {
	crc := ^uint32(0)
	for _, b := range []byte(text) {
		crc ^= uint32(b)
		for range 8 {
			crc = crc>>1 ^ 0xedb88320&-(crc&1)
		}
	}
	crc = ^crc
	sum := make([]byte, 7)
	for i := range sum {
		sum[6-i] = "0123456789abcdefghjkmnpqrstvwxyz"[crc>>(5*i)&31]
	}
	return text + string(sum)
}

// withSecret returns a key with the id of another one, a secret that differs in one character, and the
// right checksum.
func withSecret(key string) string {
	last := byte('0')
	if key[len(key)-8] == last {
		last = '1'
	}
	return checked(key[:len(key)-8] + string(last))
}

func withPrefix(key, prefix string) string {
	return checked(prefix + "_" + key[len(key)-52:len(key)-7])
}

func TestBadKeysCostNoLookup(t *testing.T) {
	w := newWorld(t)
	key, _ := w.make(t, nil)
	w.want(t, "the key", key, 200)
	gets, body := w.store.gets.Load(), w.want(t, "a typo", key[:len(key)-1], 401).Body.String()
	for what, text := range badKeys(key) {
		for header, value := range map[string]string{"Authorization": "Bearer " + text, "X-Api-Key": text} {
			got := w.send(t, "GET", "/notes", map[string]string{header: value})
			if got.Code != 401 || got.Body.String() != body {
				t.Errorf("%s: %s: %d %s", header, what, got.Code, got.Body)
			}
		}
	}
	if n := w.store.gets.Load() - gets; n != 0 {
		t.Errorf("%d look-ups", n)
	}
}

// An unknown id and a wrong secret give one answer and make the same calls, also while the key itself is
// answered from memory.
func TestUnknownIdsAndWrongSecretsAreAnsweredAlike(t *testing.T) {
	for _, stale := range []time.Duration{0, time.Minute} {
		w := newWorld(t, func(w *world) { w.mechanism.Stale = stale })
		key, _ := w.make(t, nil)
		w.want(t, "the key", key, 200)
		var body string
		for what, wrong := range map[string]string{"unknown": string(w.mechanism.Formats[0].Random()), "another secret": withSecret(key), "the other prefix": withPrefix(key, "acme_test")} {
			for range 3 {
				gets, uses := w.store.gets.Load(), w.store.uses.Load()
				got := w.want(t, what, wrong, 401)
				if body == "" {
					body = got.Body.String()
				}
				if gets, uses = w.store.gets.Load()-gets, w.store.uses.Load()-uses; gets != 1 || uses != 0 || got.Body.String() != body || got.Header().Get("WWW-Authenticate") == "" {
					t.Errorf("%s, remembered for %v: %d look-ups, %d uses, %s", what, stale, gets, uses, got.Body)
				}
			}
		}
	}
}

func TestWhereAKeyIs(t *testing.T) {
	w := newWorld(t)
	key, _ := w.make(t, nil)
	mint, _, err := w.tokens.Mint(t.Context(), signedByApp(), w.tenant, wish("object.read.c_note"))
	if err != nil {
		t.Fatal(err)
	}
	jwt := string(mint)
	for _, c := range []struct {
		what, path string
		header     http.Header
		status     int
		by         string
	}{
		{"in Authorization", "/notes", http.Header{"Authorization": {"Bearer " + key}}, 200, "apikey"},
		{"with the scheme in lower case", "/notes", http.Header{"Authorization": {"bearer " + key}}, 200, "apikey"},
		{"in X-Api-Key", "/notes", http.Header{"X-Api-Key": {key}}, 200, "apikey"},
		{"a token beside the mechanism", "/notes", http.Header{"Authorization": {"Bearer " + jwt}}, 200, "bearer"},
		{"in both headers", "/notes", http.Header{"Authorization": {"Bearer " + key}, "X-Api-Key": {key}}, 400, ""},
		{"in X-Api-Key beside a token", "/notes", http.Header{"Authorization": {"Bearer " + jwt}, "X-Api-Key": {key}}, 400, ""},
		{"twice in Authorization", "/notes", http.Header{"Authorization": {"Bearer " + key, "Bearer " + key}}, 400, ""},
		{"beside a token in Authorization", "/notes", http.Header{"Authorization": {"Bearer " + jwt, "Bearer " + key}}, 400, ""},
		{"twice in X-Api-Key", "/notes", http.Header{"X-Api-Key": {key, key}}, 400, ""},
		{"after two blanks", "/notes", http.Header{"Authorization": {"Bearer  " + key}}, 401, ""},
		{"after a tab", "/notes", http.Header{"Authorization": {"Bearer\t" + key}}, 401, ""},
		{"without the scheme", "/notes", http.Header{"Authorization": {key}}, 401, ""},
		{"with the scheme Basic", "/notes", http.Header{"Authorization": {"Basic " + key}}, 401, ""},
		{"in the query", "/notes?api_key=" + key + "&key=" + key + "&access_token=" + key, http.Header{}, 401, ""},
		{"in a cookie", "/notes", http.Header{"Cookie": {"key=" + key}}, 401, ""},
		{"an empty X-Api-Key", "/notes", http.Header{"X-Api-Key": {""}}, 401, ""},
		{"a bad key where a credential is optional", "/maybe", http.Header{"Authorization": {"Bearer " + key[:40]}}, 401, ""},
		{"another deployment's where a credential is optional", "/maybe", http.Header{"Authorization": {"Bearer " + withPrefix(key, "globex_live")}}, 401, ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			r := httptest.NewRequest("GET", "/acme/v2"+c.path, nil)
			r.Header = c.header
			got := httptest.NewRecorder()
			w.last.Store(nil)
			w.mux.ServeHTTP(got, r)
			if got.Code != c.status || c.by != "" && w.last.Load().Mechanism != c.by {
				t.Errorf("%d %s, want %d by %q", got.Code, got.Body, c.status, c.by)
			}
		})
	}
}

// With no other mechanism for bearer credentials, all of them are this one's, so that none is ignored. An
// issuer.Mechanism without a bearer.Mechanism leaves it the keys.
func TestOtherMechanismsForBearerCredentials(t *testing.T) {
	others := map[string]auth.Mechanism{"none": nil, "issuer": &issuer.Mechanism{Issuers: []*issuer.Issuer{{
		Org: "acme", URL: "https://id.example.test", Audience: "notes", JWKS: "https://id.example.test/keys",
		Map: func(context.Context, *auth.Tenant, *issuer.Foreign) (issuer.Identity, error) {
			return issuer.Identity{}, nil
		},
	}}}}
	for name, other := range others {
		w := newWorld(t, func(w *world) {
			w.guard.Mechanisms = []auth.Mechanism{w.mechanism}
			if other != nil {
				w.guard.Mechanisms = []auth.Mechanism{other, w.mechanism}
			}
		})
		key, _ := w.make(t, nil)
		w.want(t, name+": the key", key, 200)
		if got := w.send(t, "GET", "/maybe", bearing(withPrefix(key, "globex_live"))); got.Code != 401 {
			t.Errorf("%s: another deployment's key where a credential is optional: %d", name, got.Code)
		}
	}
}

// Whoever owns a credential decides about it, whatever the order of the mechanisms.
func TestTheOrderOfMechanismsDoesNotMatter(t *testing.T) {
	origin := newWorld(t)
	key, _ := origin.make(t, nil)
	mint, _, err := origin.tokens.Mint(t.Context(), signedByApp(), origin.tenant, wish("object.read.c_note"))
	if err != nil {
		t.Fatal(err)
	}
	foreign := "eyJhbGciOiJFUzI1NiIsImtpZCI6ImsifQ." + base64.RawURLEncoding.EncodeToString([]byte(`{"iss":"https://id.example.test"}`)) + ".AAAA"
	var values [][]string
	credentials := []string{key, string(mint), foreign, withPrefix(key, "globex_live"), "acme_live_", "", "."}
	for _, c := range credentials {
		values = append(values, []string{"Bearer " + c}, []string{"bearer  " + c}, []string{"BEARER\t" + c}, []string{"Bearer" + c}, []string{"Basic " + c, "Bearer " + c})
		for _, second := range credentials {
			values = append(values, []string{"Bearer " + c, "Bearer " + second})
		}
	}
	for _, orders := range [][]string{{"BIK", "BKI", "IBK", "IKB", "KBI", "KIB"}, {"BK", "KB"}, {"IK", "KI"}, {"BI", "IB"}} {
		seen := map[string]string{}
		for _, order := range orders {
			var refused auth.Event
			w := newWorld(t, func(w *world) {
				w.mechanism.Store = origin.store
				all := map[rune]auth.Mechanism{'K': w.mechanism, 'B': &bearer.Mechanism{Keys: origin.tokens.Keys}, 'I': &issuer.Mechanism{Issuers: []*issuer.Issuer{{
					Org: "acme", URL: "https://id.example.test", Audience: "notes", Keys: map[string]crypto.PublicKey{"k": sharedPair().Signer.Public()},
					Map: func(context.Context, *auth.Tenant, *issuer.Foreign) (issuer.Identity, error) {
						return issuer.Identity{}, nil
					},
				}}}}
				w.guard.Mechanisms = nil
				for _, m := range order {
					w.guard.Mechanisms = append(w.guard.Mechanisms, all[m])
				}
				w.guard.Observe = func(_ context.Context, e auth.Event) { refused = e }
			})
			for _, value := range values {
				for _, path := range []string{"/me", "/maybe"} {
					r := httptest.NewRequest("GET", "/acme/v2"+path, nil)
					r.Header["Authorization"] = value
					got := httptest.NewRecorder()
					w.mux.ServeHTTP(got, r)
					what, result := fmt.Sprint(path, value), fmt.Sprint(got.Code, refused.Detail, refused.Mechanism, refused.Claimed.Mechanism)
					if before, ok := seen[what]; ok && before != result {
						t.Errorf("%s: %s is %s, and in another order %s", order, what, result, before)
					}
					if len(value) > 1 && got.Code != 400 {
						t.Errorf("%s: %s: %d", order, what, got.Code)
					}
					seen[what] = result
				}
			}
		}
	}
}

func TestLimitedKeysCountExactly(t *testing.T) {
	for _, stale := range []time.Duration{0, time.Hour} {
		w := newWorld(t, func(w *world) { w.mechanism.Stale = stale })
		key, r := w.make(t, func(g *apikey.Grant) { g.Uses = 25 })
		if got := w.send(t, "DELETE", "/notes/"+note, bearing(key)); got.Code != 403 { // a use that is not given back
			t.Errorf("beyond the scope: %d", got.Code)
		}
		w.store.away.Store(true)
		w.want(t, "while the store is away", key, 503) // and no use was counted
		w.store.away.Store(false)
		var ok atomic.Int64
		var all sync.WaitGroup
		for range 64 {
			all.Go(func() {
				if w.send(t, "GET", "/notes", bearing(key)).Code == 200 {
					ok.Add(1)
				}
			})
		}
		all.Wait()
		if got, _ := w.store.Store.Get(t.Context(), r.ID); ok.Load() != 24 || got.Used != 25 {
			t.Errorf("%d of 24 requests, %d uses", ok.Load(), got.Used)
		}
	}
}

func TestTheLastUseIsWrittenOnceAnHour(t *testing.T) {
	for _, stale := range []time.Duration{0, time.Minute, 3 * time.Hour} {
		w := newWorld(t, func(w *world) { w.mechanism.Stale = stale })
		key, r := w.make(t, nil)
		for hour := range 3 {
			for range 59 {
				w.want(t, "the key", key, 200)
				w.clock.Advance(time.Minute)
			}
			if got := w.store.uses.Load(); got != int64(hour+1) {
				t.Errorf("remembered for %v: %d writes after %d hours", stale, got, hour+1)
			}
			got, _ := w.store.Store.Get(t.Context(), r.ID)
			if !got.Seen.Equal(noon.Add(time.Duration(hour)*time.Hour)) || got.From != netip.MustParsePrefix("192.0.2.0/24") || got.Used != 0 {
				t.Errorf("seen %v from %v, %d uses", got.Seen, got.From, got.Used)
			}
			w.clock.Advance(time.Minute)
		}
	}
}

func TestVerbsOfAKeyThatEndsSoon(t *testing.T) {
	var soon []auth.Event
	w := newWorld(t, func(w *world) {
		w.guard.Observe = func(_ context.Context, e auth.Event) {
			if e.Verb == "ends.soon" {
				soon = append(soon, e)
			}
		}
	})
	key, r := w.make(t, func(g *apikey.Grant) { g.Expires = noon.Add(15*24*time.Hour - 13*time.Hour) })
	for range 36 { // its last 14 days begin after 11 hours
		w.want(t, "the key", key, 200)
		w.clock.Advance(time.Hour)
	}
	if len(soon) != 1 || soon[0].Credential != r.ID || soon[0].Account != r.Account || soon[0].Reason != r.Expires.Format(time.DateOnly) {
		t.Errorf("got %+v", soon)
	}
}

func TestInsideTheBoundTheStoreIsNotAsked(t *testing.T) {
	w := newWorld(t, func(w *world) { w.mechanism.Stale = 2 * time.Second })
	key, r := w.make(t, nil)
	w.want(t, "the first request", key, 200)
	gets, uses := w.store.gets.Load(), w.store.uses.Load()
	w.store.away.Store(true)
	for range 100 {
		w.want(t, "inside the bound", key, 200)
	}
	if w.store.gets.Load() != gets || w.store.uses.Load() != uses {
		t.Error("the store was asked")
	}
	w.clock.Advance(2 * time.Second)
	w.want(t, "after it, while the store is away", key, 503)
	w.store.away.Store(false)
	w.want(t, "after it", key, 200)

	other := &apikey.Mechanism{Store: w.store, Formats: w.mechanism.Formats} // of another process
	if err := other.Keys().Revoke(t.Context(), "acme", r.ID); err != nil {
		t.Fatal(err)
	}
	w.want(t, "revoked elsewhere, inside the bound", key, 200)
	w.clock.Advance(2 * time.Second)
	w.want(t, "revoked elsewhere, after the bound", key, 401)
}

func TestAChangeHoldsForTheNextRequest(t *testing.T) {
	for what, change := range map[string]func(*world, apikey.Record) error{
		"revoked": func(w *world, r apikey.Record) error { return w.mechanism.Keys().Revoke(t.Context(), "acme", r.ID) },
		"disabled": func(w *world, r apikey.Record) error {
			return w.mechanism.Keys().Restrict(t.Context(), session("ann"), w.tenant, r.ID, func(r *apikey.Record) error { r.Disabled = true; return nil })
		},
		"out of its networks": func(w *world, r apikey.Record) error {
			return w.mechanism.Keys().Restrict(t.Context(), session("ann"), w.tenant, r.ID, func(r *apikey.Record) error { r.Networks = []netip.Prefix{}; return nil })
		},
		"replaced at once": func(w *world, r apikey.Record) error {
			_, _, err := w.mechanism.Keys().Replace(t.Context(), session("ann"), w.tenant, r.ID, time.Time{}, time.Time{})
			return err
		},
		"its owner is disabled": func(w *world, r apikey.Record) error {
			w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Disabled: true})
			return nil
		},
		"its app is gone": func(w *world, r apikey.Record) error { w.directory.DeleteApp(app); return nil },
	} {
		w := newWorld(t, func(w *world) { w.mechanism.Stale = time.Hour })
		key, r := w.make(t, func(g *apikey.Grant) { g.App = app })
		w.want(t, "before", key, 200)
		if err := change(w, r); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		w.want(t, what, key, 401)
	}
	w := newWorld(t, func(w *world) { w.mechanism.Stale = time.Hour })
	key, r := w.make(t, nil)
	w.want(t, "before", key, 200)
	if err := w.mechanism.Keys().Restrict(t.Context(), session("ann"), w.tenant, r.ID, func(r *apikey.Record) error { r.Scope = nil; return nil }); err != nil {
		t.Error(err)
	}
	w.want(t, "narrowed", key, 403)
	key, _ = w.make(t, nil)
	w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Changed: noon.Add(time.Hour), TokensFrom: noon.Add(time.Hour)})
	w.want(t, "a new password ends no key", key, 200)
}

func TestAClientOfTheTestsSendsAKey(t *testing.T) {
	w := newWorld(t)
	key, _ := w.make(t, nil)
	client := authtest.Clients{Handler: w.mux, URL: "https://api.example.test/acme/v2", Guard: w.guard}.Bearer(token.Token(key))
	got, err := client.Get("https://api.example.test/acme/v2/notes")
	if err != nil || got.StatusCode != 200 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestReadmit(t *testing.T) {
	w := newWorld(t, func(w *world) { w.mechanism.Stale = time.Hour })
	key, r := w.make(t, func(g *apikey.Grant) { g.Uses = 2 })
	var again []error
	w.mux.HandleFunc("GET /stream", auth.Authenticated, func(_ http.ResponseWriter, r *http.Request) {
		_, err := w.guard.Readmit(r, auth.Authenticated)
		again = append(again, err)
	})
	w.send(t, "GET", "/stream", bearing(key))
	w.send(t, "GET", "/stream", bearing(key)) // its last use
	if got, _ := w.store.Store.Get(t.Context(), r.ID); got.Used != 2 || len(again) != 2 || again[0] != nil || again[1] == nil {
		t.Errorf("%d uses, %v", got.Used, again)
	}
}

// TestTheEventHasTheID looks into events for keys: the id is there, and the secret is not.
func TestTheEventHasTheID(t *testing.T) {
	var events []auth.Event
	w := newWorld(t, func(w *world) { w.guard.Observe = func(_ context.Context, e auth.Event) { events = append(events, e) } })
	key, r := w.make(t, nil)
	w.want(t, "another secret", withSecret(key), 401)
	if err := w.mechanism.Keys().Revoke(t.Context(), "acme", r.ID); err != nil {
		t.Fatal(err)
	}
	w.want(t, "revoked", key, 401)
	for _, e := range events[1:] {
		if text := e.Err.Error(); !strings.Contains(text, r.ID) || strings.Contains(text, key[23:40]) {
			t.Errorf("an event with %s", text)
		}
	}
}

func TestAnotherOrgDoesNotLearnWhoseKeyItIs(t *testing.T) {
	var last auth.Event
	w := newWorld(t, func(w *world) { w.guard.Observe = func(_ context.Context, e auth.Event) { last = e } })
	key, _ := w.make(t, func(g *apikey.Grant) { g.Networks = []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")} })
	w.want(t, "outside of its networks", key, 401)
	if last.Claimed.Account != "ann" {
		t.Errorf("its own org is told %+v", last.Claimed)
	}
	r := httptest.NewRequest("GET", "/globex/v2/notes", nil)
	r.Header.Set("Authorization", "Bearer "+key)
	got := httptest.NewRecorder()
	w.mux.ServeHTTP(got, r)
	if got.Code != 401 || last.Org != "globex" || last.Claimed != (auth.Claimed{Mechanism: apikey.Name}) {
		t.Errorf("%d, another org is told %+v", got.Code, last.Claimed)
	}
}

// A key is not a token where only a token does: it is not renewed.
func TestAKeyIsNotRenewed(t *testing.T) {
	w := newWorld(t)
	key, _ := w.make(t, func(g *apikey.Grant) { g.App = app })
	var byHeader, byText error
	w.mux.HandleFunc("POST /renew", auth.Public, func(_ http.ResponseWriter, r *http.Request) {
		_, _, byHeader = w.tokens.Renew(r, bearer.Less{})
		_, _, byText = w.tokens.RenewToken(r.Context(), auth.TenantFrom(r.Context()), key, bearer.Less{})
	})
	w.send(t, "POST", "/renew", bearing(key))
	for _, err := range []error{byHeader, byText} {
		if problem(err) != auth.DetailInvalidToken {
			t.Errorf("a key is renewed: %v", err)
		}
	}
}

// A store that is away when the hourly use is due refuses this request and the next. A key that was
// revoked elsewhere, and is found out by that write, stays refused.
func TestAUseThatIsNotWrittenIsRepeated(t *testing.T) {
	w := newWorld(t, func(w *world) { w.mechanism.Stale = 3 * time.Hour })
	key, r := w.make(t, nil)
	w.want(t, "the key", key, 200)
	w.clock.Advance(time.Hour)
	w.store.away.Store(true)
	for range 2 {
		w.want(t, "while the store is away", key, 503)
	}
	w.store.away.Store(false)
	w.want(t, "afterwards", key, 200)
	w.clock.Advance(time.Hour)
	if err := w.store.Store.Revoke(t.Context(), "acme", r.ID); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		w.want(t, "revoked elsewhere, and due", key, 401)
	}
}

func TestWhatBindRefuses(t *testing.T) {
	for what, m := range map[string]*apikey.Mechanism{
		"no store":           {Formats: []apikey.Format{{Prefix: "acme"}}},
		"no format":          {Store: apikey.NewMemory()},
		"an empty prefix":    {Store: apikey.NewMemory(), Formats: []apikey.Format{{}}},
		"a prefix twice":     {Store: apikey.NewMemory(), Formats: []apikey.Format{{Prefix: "a"}, {Prefix: "a"}}},
		"upper case":         {Store: apikey.NewMemory(), Formats: []apikey.Format{{Prefix: "Acme"}}},
		"a digit first":      {Store: apikey.NewMemory(), Formats: []apikey.Format{{Prefix: "1acme"}}},
		"two underscores":    {Store: apikey.NewMemory(), Formats: []apikey.Format{{Prefix: "acme__live"}}},
		"one at the end":     {Store: apikey.NewMemory(), Formats: []apikey.Format{{Prefix: "acme_"}}},
		"a long prefix":      {Store: apikey.NewMemory(), Formats: []apikey.Format{{Prefix: strings.Repeat("a", 33)}}},
		"Authorization":      {Store: apikey.NewMemory(), Formats: []apikey.Format{{Prefix: "acme"}}, Header: "authorization"},
		"a header of blanks": {Store: apikey.NewMemory(), Formats: []apikey.Format{{Prefix: "acme"}}, Header: "X Key"},
		"a negative bound":   {Store: apikey.NewMemory(), Formats: []apikey.Format{{Prefix: "acme"}}, Stale: -1},
	} {
		if err := m.Bind(nil); err == nil {
			t.Errorf("%s is accepted", what)
		}
	}
}

func TestTheDocumentHasBothWays(t *testing.T) {
	w := newWorld(t)
	text, err := (&openapi.Document{Mux: w.mux, Title: "x", Version: "1"}).JSON()
	for _, want := range []string{`"apikey":{"bearerFormat":"API key"`, `{"description":"A key that begins with` + " `acme_live_`" + `.","in":"header","name":"X-Api-Key","type":"apiKey"}`} {
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s is not in %s, %v", want, text, err)
		}
	}
}

// A request with a key that is remembered takes one allocation, its context.
func TestAllocations(t *testing.T) {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "-race" && s.Value == "true" {
				t.Skip("the race detector allocates on its own")
			}
		}
	}
	w := newWorld(t, func(w *world) { w.mechanism.Stale = time.Hour })
	key, _ := w.make(t, nil)
	r := httptest.NewRequest("GET", "/acme/v2/none", nil)
	r.Header.Set("Authorization", "Bearer "+key)
	w.mux.HandleFunc("GET /none", auth.Allow("object.read.c_note"), func(http.ResponseWriter, *http.Request) {})
	got := httptest.NewRecorder()
	once := func() { w.mux.ServeHTTP(got, r) }
	if once(); got.Code != 200 {
		t.Fatal(got.Body)
	}
	if n := testing.AllocsPerRun(1000, once); n > 1 {
		t.Errorf("%.0f allocations, want 1", n)
	}
}

func BenchmarkGuard(b *testing.B) {
	for name, stale := range map[string]time.Duration{"remembered": time.Hour, "memory": 0} {
		b.Run(name, func(b *testing.B) {
			w := newWorld(b, func(w *world) { w.mechanism.Stale = stale })
			key, _ := w.make(b, nil)
			r := httptest.NewRequest("GET", "/acme/v2/none", nil)
			r.Header.Set("Authorization", "Bearer "+key)
			w.mux.HandleFunc("GET /none", auth.Allow("object.read.c_note"), func(http.ResponseWriter, *http.Request) {})
			got := httptest.NewRecorder()
			b.ReportAllocs()
			for b.Loop() {
				w.mux.ServeHTTP(got, r)
			}
		})
	}
}

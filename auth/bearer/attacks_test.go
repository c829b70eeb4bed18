package bearer_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/scope"
	"github.com/tenantkit/tenantkit/token"
)

const (
	invalid   = "accessDenied.invalidJwt"
	missing   = "accessDenied.noCredentialsSupplied"
	ambiguous = "invalidArgument.ambiguousCredentials"
	outside   = "accessDenied.scope"
)

func TestHonestTokenPasses(t *testing.T) {
	w := newWorld(t)
	got := w.me(t, honest(t, "service/rls", []string{"editor"}, "service/gnt", 4, "service/skp", true))
	want(t, got, 200, "")
	p := w.last.Load()
	if p.Org != "acme" || p.App != appA || p.Account != "ann" || p.Caller != "ann" || p.Mechanism != "bearer" ||
		!slices.Equal(p.Roles, []string{"member", "editor"}) || p.Grant != 4 || !p.SkipACL || p.SkipCreateACL ||
		p.TokenID != "" || p.Limited || p.Expires.IsZero() || !p.Authenticated.IsZero() {
		t.Errorf("principal %+v", p)
	}
}

func TestAPrincipalTellsWhichToken(t *testing.T) {
	w := newWorld(t)
	want(t, w.me(t, w.limited(t, "some", 3)), 200, "")
	if p := w.last.Load(); p.TokenID != "some" || !p.Limited {
		t.Errorf("of a limited-use token: %+v", p)
	}
	raw := honest(t, "jti", "permanent", "exp", nil)
	kid, _ := kidOf(0)
	record := token.Record{ID: "permanent", Org: "acme", ClientKey: appA, Subject: "ann", KeyID: kid, Issued: time.Now()}
	if err := w.ledger.Issue(t.Context(), record, nil, 10); err != nil {
		t.Fatal(err)
	}
	want(t, w.me(t, raw), 200, "")
	if p := w.last.Load(); p.TokenID != "permanent" || p.Limited || !p.Expires.IsZero() {
		t.Errorf("of a permanent token: %+v", p)
	}
}

// Tokens that package token refuses, sent over HTTP: one row of each class.
func TestTokensThatAreRefused(t *testing.T) {
	w := newWorld(t)
	now := time.Now().Unix()
	parts := strings.Split(honest(t), ".")
	bodies := map[string]bool{}
	for name, raw := range map[string]string{
		"T01 alg none":               b64([]byte(`{"alg":"none"}`)) + "." + parts[1] + ".",
		"T01 trailing dot":           honest(t) + ".",
		"T04 a foreign header":       b64([]byte(`{"alg":"RS256","jku":"https://evil.test"}`)) + "." + parts[1] + "." + parts[2],
		"T06 kid unknown":            b64([]byte(`{"alg":"RS256","kid":"nobody"}`)) + "." + parts[1] + "." + parts[2],
		"T06 signature of another":   parts[0] + "." + parts[1] + "." + strings.Split(honest(t, "sub", "root"), ".")[2],
		"T06 iss of A signed by B":   signWith(t, 1, claims()),
		"T07 payload an array":       signWith(t, 0, []int{1}),
		"T08 exp a string":           honest(t, "exp", "tomorrow"),
		"T10 aud of another org":     honest(t, "aud", "https://api.example.test/globex/v2"),
		"T10 aud with a slash":       honest(t, "aud", "https://api.example.test/acme/v2/"),
		"T10 aud an array":           honest(t, "aud", []string{"https://api.example.test/acme/v2"}),
		"T11 sub unknown":            honest(t, "sub", "nobody"),
		"T11 account disabled":       honest(t, "sub", "off"),
		"T11 account of another org": honest(t, "sub", "gus"),
		"T13 skp a string":           honest(t, "service/skp", "true"),
		"T13 gnt out of range":       honest(t, "service/gnt", 99),
		"T13 a role that is unknown": honest(t, "service/rls", []string{"member", "emperor"}),
		"T13 scp null":               signWith(t, 0, claims("service/scp", json.RawMessage("null"))),
		"T13 a null in scp":          signWith(t, 0, claims("service/scp", []any{nil})),
		"T14 cnt without jti":        honest(t, "service/cnt", 3),
		"T15 9 KiB":                  honest(t, "x", strings.Repeat("x", 9<<10)),
		"T16 padding":                honest(t) + "==",
		"T24 jti not in the ledger":  honest(t, "jti", "unheard-of"),
		"an unparsable chain":        honest(t, "service/scp", []string{"", "object.raed"}),
		"a key of another org":       signWith(t, 2, claims("iss", appG)),
	} {
		t.Run(name, func(t *testing.T) {
			got := w.me(t, raw)
			want(t, got, 401, invalid)
			if got.header.Get("WWW-Authenticate") != `Bearer error="invalid_token"` {
				t.Errorf("challenge %q", got.header.Get("WWW-Authenticate"))
			}
			bodies[got.body] = true
		})
	}
	if len(bodies) != 1 {
		t.Errorf("%d different bodies", len(bodies))
	}
	t.Run("T08 at exp", func(t *testing.T) {
		want(t, w.me(t, honest(t, "iat", now-10, "exp", now)), 401, "expired.jwt")
	})
	t.Run("T09 nbf ahead", func(t *testing.T) {
		want(t, w.me(t, honest(t, "nbf", now+120)), 401, "accessDenied.jwtNotActive")
	})
	t.Run("T05b other spellings are other names", func(t *testing.T) {
		want(t, w.me(t, honest(t, "SUB", "root", "SERVICE/SKP", true)), 200, "")
		if p := w.last.Load(); p.Account != "ann" || p.SkipACL {
			t.Errorf("bound as %+v", p)
		}
	})
	if w.handled.Load() != 1 {
		t.Errorf("%d requests were handled", w.handled.Load())
	}
}

func TestT11AppsThatAreGone(t *testing.T) {
	w := newWorld(t)
	raw := w.limited(t, "t11", 3)
	w.directory.PutApp(auth.App{ClientKey: appA, Org: "acme", Disabled: true})
	want(t, w.me(t, raw), 401, invalid)
	w.directory.DeleteApp(appA)
	want(t, w.me(t, raw), 401, invalid)
	w.directory.PutApp(auth.App{ClientKey: appA, Org: "globex"})
	want(t, w.me(t, raw), 401, invalid)
	if n := w.uses(t, "ann"); n != 0 {
		t.Errorf("T11 %d uses were spent by refused requests", n)
	}
	w.directory.PutApp(auth.App{ClientKey: appA, Org: "acme"})
	want(t, w.me(t, raw), 200, "")
}

func TestT12ClientKeyHeader(t *testing.T) {
	w := newWorld(t)
	raw := w.limited(t, "t12", 5)
	bearerOf := []string{"Authorization", "Bearer " + raw}
	tests := []struct {
		name   string
		keys   []string
		status int
		fault  string
	}{
		{"T12 differs", []string{appB}, 401, "accessDenied.invalidJwtApp"},
		{"T12 empty", []string{""}, 401, "accessDenied.invalidJwtApp"},
		{"T12 twice", []string{appA, appA}, 400, ambiguous},
		{"T12 equal", []string{appA}, 200, ""},
		{"T12 none", nil, 200, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			header := bearerOf
			for _, key := range test.keys {
				header = append(header, "Service-Client-Key", key)
			}
			before := w.uses(t, "ann")
			want(t, w.ask(t, "GET", "/acme/v2/me", header...), test.status, test.fault)
			if spent := w.uses(t, "ann") - before; (test.status == 200) != (spent == 1) {
				t.Errorf("%d uses were spent", spent)
			}
		})
	}
}

func TestT17TheAuthorizationHeader(t *testing.T) {
	w := newWorld(t)
	raw := honest(t)
	tests := []struct {
		name   string
		values []string
		status int
		fault  string
	}{
		{"T17 lower case", []string{"bearer " + raw}, 200, ""},
		{"T17 upper case", []string{"BEARER " + raw}, 200, ""},
		{"T17 two blanks", []string{"Bearer  " + raw}, 401, invalid},
		{"T17 a tab", []string{"Bearer\t" + raw}, 401, invalid},
		{"T17 a word more", []string{"Bearer " + raw + " y"}, 401, invalid},
		{"T17 alone", []string{"Bearer"}, 401, invalid},
		{"T17 two tokens in one header", []string{"Bearer " + raw + ", Bearer " + raw}, 401, invalid},
		{"T17 twice", []string{"Bearer " + raw, "Bearer " + raw}, 400, ambiguous},
		{"T17 twice, another scheme first", []string{"Basic eDp5", "Bearer " + raw}, 400, ambiguous},
		{"T17 another scheme", []string{"Basic eDp5"}, 401, missing},
		{"T17 a scheme that begins alike", []string{"Bearers " + raw}, 401, missing},
		{"T17 the token without a scheme", []string{raw}, 401, missing},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var header []string
			for _, value := range test.values {
				header = append(header, "Authorization", value)
			}
			want(t, w.ask(t, "GET", "/acme/v2/me", header...), test.status, test.fault)
		})
	}
	t.Run("T17 token in query and cookie", func(t *testing.T) {
		want(t, w.ask(t, "GET", "/acme/v2/me?access_token="+raw, "Cookie", "access_token="+raw), 401, missing)
	})
}

func TestT19AtMostCnt(t *testing.T) {
	for _, test := range []struct {
		uses int64
		asks int
	}{{1, 200}, {5, 50}} {
		t.Run(fmt.Sprintf("T19 cnt %d in %d parallel", test.uses, test.asks), func(t *testing.T) {
			w := newWorld(t)
			raw := w.limited(t, "t19", test.uses)
			var passed atomic.Int64
			var wg sync.WaitGroup
			for range test.asks {
				wg.Go(func() {
					if w.me(t, raw).status == 200 {
						passed.Add(1)
					}
				})
			}
			wg.Wait()
			if passed.Load() != test.uses {
				t.Errorf("%d passed, want %d", passed.Load(), test.uses)
			}
		})
	}
}

func TestT20NothingAfterRevoke(t *testing.T) {
	w := newWorld(t)
	raw := w.limited(t, "t20", 5)
	want(t, w.me(t, raw), 200, "")
	if err := w.ledger.Revoke(t.Context(), heldBy(appA, token.Any), "t20"); err != nil {
		t.Fatal(err)
	}
	want(t, w.me(t, raw), 401, invalid)
}

func TestT22NothingAfterTheKeyIsReplaced(t *testing.T) {
	w := newWorld(t)
	raw := honest(t)
	permanent := w.limited(t, "t22", 5)
	want(t, w.me(t, raw), 200, "") // the cache is warm
	want(t, w.me(t, permanent), 200, "")
	if _, err := w.keys.Generate(t.Context(), "acme", appA); err != nil {
		t.Fatal(err)
	}
	want(t, w.me(t, raw), 401, invalid)
	want(t, w.me(t, permanent), 401, invalid)
}

func TestT25ARefusedNeedCostsTheUse(t *testing.T) {
	w := newWorld(t)
	raw := w.limited(t, "t25", 2, "service/scp", []string{"object.read.c_other"})
	got := w.ask(t, "GET", "/acme/v2/notes", "Authorization", "Bearer "+raw)
	want(t, got, 403, outside)
	if challenge := got.header.Get("WWW-Authenticate"); challenge != `Bearer error="insufficient_scope", scope="object.read.c_note"` {
		t.Errorf("challenge %q", challenge)
	}
	if n := w.uses(t, "ann"); n != 1 {
		t.Errorf("T25 %d uses were spent, want 1", n)
	}
}

func TestT29WhatAHandlerAltersIsItsOwn(t *testing.T) {
	w := newWorld(t)
	for raw, roles := range map[string][]string{
		honest(t): {"member"}, // the subject's own role
		honest(t, "service/rls", []string{"editor"}): {"member", "editor"},
	} {
		for range 2 {
			want(t, w.me(t, raw), 200, "")
			p := w.last.Load()
			if !slices.Equal(p.Roles, roles) {
				t.Fatalf("T29 roles %v", p.Roles)
			}
			for i := range p.Roles {
				p.Roles[i] = "administrator"
			}
		}
	}
}

func TestScopesOfClaimAndRoles(t *testing.T) {
	update := scope.Object(scope.Update, "c_note", "", "")
	read := scope.Object(scope.Read, "c_note", "", "")
	tests := []struct {
		name         string
		claim        any
		ceiling      bool
		read, update bool
	}{
		{"C01 scp absent: role scopes only", nil, false, false, true},
		{"C01 scp empty: role scopes only", []string{}, false, false, true},
		{"C01 the empty chain: everything", []string{""}, false, true, true},
		{"C01 the star: everything", []string{"*"}, false, true, true},
		{"a chain, and the role's", []string{"object.read.c_note"}, false, true, true},
		{"a ceiling and no claim", nil, true, false, true},
		{"a ceiling and an empty claim", []string{}, true, false, false},
		{"a ceiling and a chain", []string{"object.read.c_note"}, true, true, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, func(w *world) { w.guard.Ceiling = test.ceiling })
			want(t, w.me(t, honest(t, "service/scp", test.claim, "service/rls", []string{"editor"})), 200, "")
			p := w.last.Load()
			if p.Scope.Allows(read) != test.read || p.Scope.Allows(update) != test.update {
				t.Errorf("read %v, update %v", p.Scope.Allows(read), p.Scope.Allows(update))
			}
			if p.Granted.Allows(read) != test.read || p.Granted.Allows(update) != test.update {
				t.Errorf("may pass on: read %v, update %v", p.Granted.Allows(read), p.Granted.Allows(update))
			}
			if p.Scope.Allows(update) && test.claim == nil && p.Scope.Explain(update).Source != "role editor" {
				t.Errorf("the source is %q", p.Scope.Explain(update).Source)
			}
		})
	}
	t.Run("C01 scp null", func(t *testing.T) {
		w := newWorld(t)
		c := claims()
		c["service/scp"] = nil
		want(t, w.me(t, signWith(t, 0, c)), 401, invalid)
	})
}

func TestDroppedChainsAreReported(t *testing.T) {
	var events []auth.Event
	w := newWorld(t, func(w *world) { w.guard.Observe = collect(&events) })
	raw := honest(t, "service/scp", []string{"report.run"}, "service/rls", []string{"broken"})
	want(t, w.me(t, raw), 200, "")
	if len(events) != 1 || events[0].Err == nil || !events[0].Allowed {
		t.Fatalf("events %+v", events)
	}
	for _, text := range []string{"role broken", "raed", "report.run"} {
		if !strings.Contains(events[0].Err.Error(), text) {
			t.Errorf("%q is not reported: %v", text, events[0].Err)
		}
	}
	if !w.last.Load().Scope.Allows(scope.Admin(scope.Read)) {
		t.Error("the role's good chain was dropped too")
	}
}

func TestAStoreThatFailsIsUnavailable(t *testing.T) {
	t.Run("directory", func(t *testing.T) {
		w := newWorld(t, func(w *world) { w.guard.Directory = broken{w.directory} })
		raw := w.limited(t, "d", 3)
		want(t, w.me(t, raw), 503, "error.storeUnavailable")
		if n := w.uses(t, "ann"); n != 0 {
			t.Errorf("%d uses were spent", n)
		}
	})
	t.Run("roles", func(t *testing.T) {
		for _, roles := range []any{nil, []string{"editor"}} { // the subject's own roles only, and added ones
			w := newWorld(t, func(w *world) { w.guard.Directory = withoutRoles{w.directory} })
			raw := w.limited(t, "r", 3, "service/rls", roles)
			want(t, w.me(t, raw), 503, "error.storeUnavailable")
			if n := w.uses(t, "ann"); n != 0 {
				t.Errorf("%v: %d uses were spent", roles, n)
			}
		}
	})
	t.Run("the ledger, and the handler is not called", func(t *testing.T) {
		w := newWorld(t, func(w *world) { w.mechanism.Ledger = failing{} })
		want(t, w.me(t, w.limited(t, "l", 3)), 503, "error.storeUnavailable")
		if w.handled.Load() != 0 {
			t.Error("handled")
		}
	})
}

// Whatever the header holds, a request is admitted only by the scheme, one space and the token.
// With another app's key it is not admitted.
func FuzzAuthorizationHeader(f *testing.F) {
	for _, seed := range []string{"Bearer @", "bearer @", "Bearer  @", "Bearer\t@", "Bearer @ ", "Bearer @,@", "Basic @", "@", "Bearer", "Bearer @=", "Bearer @.@"} {
		f.Add(seed, "", false)
		f.Add(seed, appA, true)
	}
	f.Add("Bearer @", appB, true)
	f.Add("Bearer @", "", true)
	w := newWorld(f)
	raw := honest(f)
	f.Fuzz(func(t *testing.T, value, key string, keyed bool) {
		r := httptest.NewRequest("GET", "/acme/v2/me", nil)
		r.Header["Authorization"] = []string{strings.ReplaceAll(value, "@", raw)}
		if keyed {
			r.Header["Service-Client-Key"] = []string{key}
		}
		rec := httptest.NewRecorder()
		w.mux.ServeHTTP(rec, r)
		good := len(value) == 8 && strings.EqualFold(value[:6], "bearer") && value[6:] == " @" && (!keyed || key == appA)
		// The token itself may be found by the fuzzer.
		good = good || strings.EqualFold(value, "bearer "+raw) && strings.HasSuffix(value, " "+raw) && (!keyed || key == appA)
		if good != (rec.Code == 200) || rec.Code != 200 && rec.Code != 401 {
			t.Errorf("%q, key %q %v: got %d", value, key, keyed, rec.Code)
		}
	})
}

// The limits of claims in section 8 of the interface, except the length of a token.
func TestBoundsOfClaims(t *testing.T) {
	w := newWorld(t)
	chains := func(n int) []string { return slices.Repeat([]string{"*"}, n) }
	text := func(n int) string { return strings.Repeat("x", n) }
	for _, test := range []struct {
		name, claim string
		value       any
		status      int
	}{
		{"1024 chains", "service/scp", chains(1024), 200},
		{"1025 chains", "service/scp", chains(1025), 401},
		{"64 roles", "service/rls", slices.Repeat([]string{"editor"}, 64), 200},
		{"65 roles", "service/rls", slices.Repeat([]string{"editor"}, 65), 401},
		{"a role of 513 bytes", "service/rls", []string{text(513)}, 401},
		{"a sub of 513 bytes", "sub", text(513), 401},
		{"a claim of one's own of 513 bytes", "own", text(513), 200},
	} {
		t.Run(test.name, func(t *testing.T) {
			fault := ""
			if test.status == 401 {
				fault = invalid
			}
			want(t, w.me(t, honest(t, test.claim, test.value)), test.status, fault)
		})
	}
}

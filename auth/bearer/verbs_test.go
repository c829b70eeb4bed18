package bearer_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/internal/testing/heard"
	"github.com/tenantkit/tenantkit/scope"
	"github.com/tenantkit/tenantkit/token"
)

func TestVerbsOfTokens(t *testing.T) {
	r := newRenewing(t)
	var do func(*http.Request) error
	r.mux.HandleFunc("POST /do", auth.Authenticated, func(w http.ResponseWriter, req *http.Request) {
		if err := do(req); err != nil {
			auth.Fail(w, req, err)
			return
		}
		auth.Reply(w, req, map[string]bool{})
	})
	var said []string
	hears := func(name string, do func(), want ...string) {
		t.Helper()
		r.events = nil
		do()
		if diff := cmp.Diff(want, heard.Verbs(t, r.events, "Go-http-client/1.1")); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		said = append(said, fmt.Sprintf("%+v", r.events))
	}
	does := func(raw string, f func(*http.Request) error) {
		do = f
		r.minting.ask(t, "POST", "/acme/v2/do", "Authorization", "Bearer "+raw)
	}
	secrets := map[string]token.Claims{}
	mints := func(raw, subject string, alter ...func(*bearer.Wish)) (minted string) {
		does(raw, func(req *http.Request) error {
			by := auth.From(req.Context()).AsAdministrator(true)
			signed, claims, err := r.mechanism.Mint(req.Context(), by, auth.TenantFrom(req.Context()), wish(subject, alter...))
			minted = string(signed)
			secrets[minted] = claims
			return err
		})
		return minted
	}
	root := r.mint(t, session("root"), wish("root", permanent))
	const by, app = " by root with token:#1", ", app " + appA
	var lasting, once string
	hears("an ephemeral one", func() { mints(root, "ann", chains("object.read.c_note")) },
		"token.made (ephemeral) acme/ann"+by+app)
	if e := r.events[len(r.events)-1]; !e.Scope.Allows(scope.Object(scope.Read, "c_note", "", "")) || e.Scope.Allows(scope.Admin(scope.Read)) {
		t.Error("the event does not have the token's scope")
	}
	hears("a permanent one", func() { lasting = mints(root, "root", permanent) }, "token.made (permanent) acme/root"+by+app+", token #2")
	hears("one by it", func() { once = mints(lasting, "ann", uses(1)) }, "token.made (limited) acme/ann by root with token:#1"+app+", token #2")
	hears("one that may not be", func() { mints(once, "root") })
	hears("its last use was before", func() { r.me(t, once) }, "token.spent acme/ann"+app+", token #1")
	hears("a forged one", func() { r.me(t, once[:len(once)-4]+"AAAA") })
	var next string
	hears("renewed", func() { next = r.renew(t, lasting) }, "token.renewed acme/root by root with token:#1"+app+", token #1")
	r.renew(t, next)
	r.clock.Advance(2 * time.Minute)
	hears("a former one", func() { r.me(t, lasting) }, "token.reused acme/root"+app+", token #1")
	jti := secrets[mints(root, "ann", permanent)].ID
	revokes := func(of token.Holder) {
		does(root, func(req *http.Request) error { return r.mechanism.Revoke(req.Context(), of, jti) })
	}
	hears("revoked", func() { revokes(heldBy(appA, token.Any)) }, "token.revoked acme/ann"+by+app+", token #2")
	hears("revoked again", func() { revokes(heldBy(appA, token.Any)) })
	hears("of nobody", func() { revokes(heldBy(appA, "")) })
	mints(root, "ann", permanent)
	mints(root, "ann", permanent)
	revokesAll := func(app, subject string) {
		does(root, func(req *http.Request) error {
			_, err := r.mechanism.RevokeSubject(req.Context(), heldBy(app, subject))
			return err
		})
	}
	hears("all", func() { revokesAll(appA, "ann") }, "token.revoked ×2 acme/ann"+by+app)
	mints(root, "ann", permanent)
	hears("of all apps", func() { revokesAll(token.Any, "ann") }, "token.revoked ×1 acme/ann"+by)
	hears("none", func() { revokesAll(appA, "ann") })
	hears("of no subject", func() { revokesAll(appA, "") })
	for secret := range secrets {
		if secret != "" && strings.Contains(strings.Join(said, ""), secret[strings.LastIndex(secret, "."):]) {
			t.Errorf("an event has the signature of a token")
		}
	}
}

// A renewal can be the one that finds a former token.
func TestVerbsOfARenewal(t *testing.T) {
	r := newRenewing(t)
	first := r.mint(t, session("ann"), wish("ann", permanent))
	r.renew(t, r.renew(t, first))
	r.events = nil
	want(t, r.ask(t, first), 401, auth.DetailInvalidToken)
	if diff := cmp.Diff([]string{"token.reused acme/ann, app " + appA + ", token #1"}, heard.Verbs(t, r.events, "Go-http-client/1.1")); diff != "" {
		t.Error(diff)
	}
}

package token_test

import (
	"encoding/json"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/scope"
	"github.com/tenantkit/tenantkit/token"
)

func TestVerifiedSaysWhatTheTokenSays(t *testing.T) {
	w := newWorld(t)
	now := w.now()
	record := token.Record{ID: "an-id", Org: "acme", ClientKey: appA, Subject: account, KeyID: kid(t, 0), MaxUses: 3, Issued: now}
	if err := w.ledger.Issue(t.Context(), record, nil, 10); err != nil {
		t.Fatal(err)
	}
	got := accepted(t, w, w.token(t,
		"nbf", now.Unix()-5, "jti", "an-id", "service/cnt", 3, "service/gnt", 6, "service/skp", true, "service/skc", true,
		"service/scp", []string{"admin.*", "view"}, "service/rls", []string{"editor"}, "colour", "green"))

	want := token.Claims{
		Issuer: appA, Subject: account, Audience: audience,
		IssuedAt: now, NotBefore: now.Add(-5 * time.Second), Expires: now.Add(time.Hour),
		ID: "an-id", Scope: []string{"admin.*", "view"}, Roles: []string{"editor"}, Grant: scope.LevelUpdate,
		SkipACL: true, SkipCreateACL: true, MaxUses: 3, Extra: map[string]json.RawMessage{"colour": raw(`"green"`)},
	}
	if diff := cmp.Diff(want, got.Claims()); diff != "" {
		t.Error(diff)
	}
	byMethod := token.Claims{
		Issuer: got.Issuer(), Subject: got.Subject(), Audience: want.Audience,
		IssuedAt: got.IssuedAt(), NotBefore: want.NotBefore, Expires: got.Expires(),
		ID: got.ID(), Scope: want.Scope, Roles: got.Roles(), Grant: got.Grant(),
		SkipACL: got.SkipACL(), SkipCreateACL: got.SkipCreateACL(), MaxUses: got.MaxUses(),
		Extra: map[string]json.RawMessage{"colour": got.Claims().Extra["colour"]},
	}
	if diff := cmp.Diff(want, byMethod); diff != "" {
		t.Error(diff)
	}
	set, _ := got.Scope()
	if !set.Allows(scope.Admin(scope.Update)) || set.Allows(scope.Object(scope.Read, "x", "", "")) {
		t.Error("Scope is another one")
	}
}

func TestVerifiedCannotBeAltered(t *testing.T) {
	w := newWorld(t)
	raw := w.token(t, "service/rls", []string{"editor"}, "service/scp", []string{"view"}, "x", []int{1})
	first := accepted(t, w, raw)
	before := first.Claims()

	t.Run("T29 what a handler alters is its own", func(t *testing.T) {
		first.Roles()[0] = "administrator"
		_ = append(first.Roles(), "administrator")
		copy(first.Claims().Extra["x"], "[9]")
		c := first.Claims()
		c.Scope[0], c.Roles[0] = "", "administrator"
		copy(c.Extra["x"], "[9]")
		c.Extra["y"] = nil
		set, _ := first.Scope()
		if !set.Union(scope.Unscoped()).Allows(scope.Admin(scope.Read)) {
			t.Error("a union is no wider than its parts")
		}

		second := accepted(t, w, raw)
		if diff := cmp.Diff(before, second.Claims()); diff != "" {
			t.Error(diff)
		}
		if set, _ := second.Scope(); set.Allows(scope.Admin(scope.Read)) {
			t.Error("Scope is wider than the token")
		}
	})
	t.Run("T29 the text it came from is used for something else", func(t *testing.T) {
		w := newWorld(t)
		buffer := []byte(raw)
		first := accepted(t, w, textOf(buffer))
		clear(buffer)
		second := accepted(t, w, raw)
		if diff := cmp.Diff(before, second.Claims()); diff != "" || second != first {
			t.Errorf("remembered: %v %s", second == first, diff)
		}
	})
}

// textOf returns a string that shares memory with b, as some servers do.
func textOf(b []byte) string { return unsafe.String(&b[0], len(b)) }

package authtest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

func nothing(*http.Request) {}

func (t mechanismTest) absent() {
	for what, present := range map[string]func(*http.Request){
		"no header":     nothing,
		"other headers": func(r *http.Request) { r.Header.Set("X-Unrelated", "1"); r.Header.Set("Cookie", "unrelated=1") },
	} {
		t.inside(present, func(r *http.Request) {
			if got := t.Mechanism.Presented(r); got != auth.Absent {
				t.Errorf("%s: presence %d, want Absent", what, got)
			}
		})
		t.want(what, t.sent(present), http.StatusUnauthorized)
	}
}

func (t mechanismTest) presented() {
	present := map[string]func(*http.Request){"valid": t.Present}
	for what, refused := range t.Refused {
		present[what] = refused
	}
	for what, present := range present {
		t.inside(present, func(r *http.Request) {
			looked, recorded := t.directory.counts(), t.recorded()
			first := t.Mechanism.Presented(r)
			if first == auth.Absent {
				t.Errorf("%s: Absent, so that it would be ignored and not refused", what)
			}
			changed := r.Clone(r.Context())
			body := &unread{}
			changed.Body, changed.ContentLength, changed.Method, changed.RemoteAddr = body, 1, http.MethodPost, ""
			changed.URL.Path, changed.URL.RawQuery, changed.Host = "/other", "a=b", "other.example"
			if again := t.Mechanism.Presented(changed); again != first || body.read {
				t.Errorf("%s: presence %d with another body, URL and method, want %d (body read: %t)", what, again, first, body.read)
			}
			if t.directory.counts() != looked || t.recorded() != recorded {
				t.Errorf("%s: Presented looked something up, or recorded it", what)
			}
		})
	}
}

// unread is a body that nobody may read.
type unread struct{ read bool }

func (u *unread) Read([]byte) (int, error) { u.read = true; return 0, io.EOF }
func (u *unread) Close() error             { return nil }

func (t mechanismTest) admitted() {
	got := t.sent(t.Present)
	t.want("a valid credential", got, http.StatusOK)
	p := got.principal
	if string(p.Org) != t.Org || p.Account == "" || p.Caller == "" || p.Mechanism == "" {
		t.Errorf("org %q, account %q, caller %q, mechanism %q", p.Org, p.Account, p.Caller, p.Mechanism)
	}
	for _, id := range []string{p.Account, p.Caller} {
		if _, err := t.Directory.Account(t.Context(), auth.OrgKey(t.Org), id); err != nil {
			t.Errorf("account %q: %v", id, err)
		}
	}
}

func (t mechanismTest) wrong() {
	if len(t.Refused) == 0 {
		t.Error("Candidate.Refused is empty")
	}
	body := ""
	for what, present := range t.Refused {
		got := t.sent(present)
		t.want(what, got, http.StatusUnauthorized)
		if body == "" {
			body = got.body
		}
		if got.body != body {
			t.Errorf("%s: got %s, and for another reason %s", what, got.body, body)
		}
		if len(got.challenges) == 0 {
			t.Errorf("%s: without a challenge, which a 401 must have", what)
		}
	}
}

// refusedAlike fails unless a valid credential is refused like a wrong one.
func (t mechanismTest) refusedAlike(what string) {
	t.Helper()
	got, alike := t.sent(t.Present), false
	t.want(what, got, http.StatusUnauthorized)
	for _, present := range t.Refused {
		wrong := t.sent(present)
		alike = alike || wrong.body == got.body || wrong.status != http.StatusUnauthorized
	}
	if got.status == http.StatusUnauthorized && !alike {
		t.Errorf("%s: got %s, and another body for a wrong credential", what, got.body)
	}
}

func (t mechanismTest) otherOrg() {
	t.want("at another org", t.sentToOther(), http.StatusUnauthorized)
}

// sentToOther sends a credential that was made for Org.
func (t mechanismTest) sentToOther() *reply {
	elsewhere := t.request(other, "/resource", nothing)
	elsewhere.Header = t.request(t.Org, "/resource", t.Present).Header
	return t.send(elsewhere)
}

func (t mechanismTest) account() {
	t.refusedInStates(&t.directory.accounts)
	t.want("after that", t.sent(t.Present), http.StatusOK)
}

func (t mechanismTest) app() {
	if t.sent(t.Present).principal.App != "" {
		t.refusedInStates(&t.directory.apps)
	}
}

func (t mechanismTest) refusedInStates(of *atomic.Int32) {
	defer of.Store(asItIs)
	for what, state := range states {
		of.Store(state)
		t.refusedAlike(what)
	}
}

func (t mechanismTest) directoryDown() {
	defer t.directory.down.Store(none)
	for _, kind := range t.lookups() {
		t.directory.down.Store(kind)
		t.want("while "+kindNames[kind]+" cannot be looked up", t.sent(t.Present), http.StatusServiceUnavailable)
	}
	t.directory.down.Store(none)
	t.want("after that", t.sent(t.Present), http.StatusOK)
}

// lookups returns the kinds that a valid request looks up.
func (t mechanismTest) lookups() (kinds []int32) {
	before := t.directory.counts()
	t.sent(t.Present)
	for kind, count := range t.directory.counts() {
		if count > before[kind] {
			kinds = append(kinds, int32(kind))
		}
	}
	if len(kinds) == 0 {
		t.Error("a valid request looks up nothing in the directory")
	}
	return kinds
}

func (t mechanismTest) storeDown() {
	if t.Break == nil {
		return
	}
	t.Break(true)
	defer t.Break(false)
	t.want("while the store fails", t.sent(t.Present), http.StatusServiceUnavailable)
	t.Break(false)
	t.want("after that", t.sent(t.Present), http.StatusOK)
}

func (t mechanismTest) ended() {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	t.inside(t.Present, func(r *http.Request) {
		_, err := t.Mechanism.Authenticate(ctx, r, auth.TenantFrom(r.Context()))
		if !errors.Is(err, auth.ErrUnavailable) {
			t.Errorf("with a context that has ended: error %v, want one that wraps auth.ErrUnavailable", err)
		}
	})
	defer t.directory.hangs.Store(none)
	for _, kind := range t.lookups() {
		t.directory.hangs.Store(kind)
		began := time.Now()
		t.want("while the look-up of "+kindNames[kind]+" hangs", t.sent(t.Present), http.StatusServiceUnavailable)
		if time.Since(began) >= hung {
			t.Errorf("the look-up of %s does not use the context of Authenticate, which ends with the Guard's Timeout", kindNames[kind])
		}
	}
}

func (t mechanismTest) records() {
	check := func(what string, send func() *reply) {
		before := t.recorded()
		if got := send(); got.status != http.StatusOK && t.recorded() != before {
			t.Errorf("%s: recorded", what)
		}
	}
	valid := func() *reply { return t.sent(t.Present) }
	for what, present := range t.Refused {
		check(what, func() *reply { return t.sent(present) })
	}
	check("at another org", t.sentToOther)
	t.directory.accounts.Store(disabled)
	check("a disabled account", valid)
	t.directory.accounts.Store(asItIs)
	t.directory.down.Store(accounts)
	check("a directory that fails", valid)
	t.directory.down.Store(none)
}

// secrets compares what observers are told with what a request has in its headers. A client key is
// public, and short.
func (t mechanismTest) secrets() {
	const least = 30 // characters
	for what, present := range t.Refused {
		r := t.request(t.Org, "/resource", present)
		got := t.send(r)
		if got.err == nil {
			continue
		}
		for _, values := range r.Header {
			for part := range strings.FieldsFuncSeq(strings.Join(values, " "), func(c rune) bool { return strings.ContainsRune(` ;,="`, c) }) {
				if len(part) >= least && strings.Contains(got.err.Error()+got.body, part) {
					t.Errorf("%s: the error has %d characters of the credential", what, len(part))
				}
			}
		}
	}
}

// beside sends another mechanism's credential, too. A cookie yields to a header.
func (t mechanismTest) beside() {
	var presence auth.Presence
	t.inside(t.Present, func(r *http.Request) { presence = t.Mechanism.Presented(r) })
	before := t.recorded()
	got := t.sent(func(r *http.Request) {
		t.Present(r)
		r.Header.Set(rivalHeader, "1")
	})
	if presence == auth.InHeader {
		t.want("beside another header", got, http.StatusBadRequest)
	} else if got.principal.Mechanism != theRival.Name() {
		t.Errorf("a cookie beside a header of another mechanism: got %d and %q", got.status, got.principal.Mechanism)
	}
	if t.recorded() != before {
		t.Error("a use was recorded that did not admit the request")
	}
}

// twice doubles each header of the credential. A proxy and a server may read different ones.
func (t mechanismTest) twice() {
	got := t.sent(func(r *http.Request) {
		t.Present(r)
		for name, values := range r.Header {
			r.Header[name] = append(slices.Clone(values), values...)
		}
	})
	if got.status < 400 || got.status >= 500 {
		t.Errorf("got %d, want a refusal", got.status)
	}
}

func (t mechanismTest) making() {
	p := t.sent(t.Present).principal
	switch {
	case t.Proof && p.Authenticated.IsZero():
		t.Error("a proof without Authenticated, so that it is limited as a token is")
	case !t.Proof && !p.Authenticated.IsZero():
		t.Error("Authenticated although whoever has the credential can send it: it would make what has no end")
	}
	if !t.Proof && p.AsAdministrator(true).MayMake(auth.Everything(p.Account)) == nil {
		t.Error("it may make a credential without limits")
	}
	if t.Ends && p.Expires.IsZero() {
		t.Error("no Expires: what it makes would outlive it")
	}
	for _, chain := range p.Scope.Missing(p.Granted) {
		t.Errorf("it may grant %q, which it may not do", chain)
	}
}

func (t mechanismTest) aliasing() {
	t.directory.accounts.Store(roled)
	defer t.directory.accounts.Store(asItIs)
	first := t.sent(t.Present).principal
	want := slices.Clone(first.Roles)
	for i := range first.Roles {
		first.Roles[i] = "scribbled"
	}
	if got := t.sent(t.Present).principal.Roles; !slices.Equal(got, want) {
		t.Errorf("the next request has the roles %q, want %q: clone the account's", got, want)
	}
}

func (t mechanismTest) atOnce() {
	const each = 16
	type sending struct {
		what   string
		r      *http.Request
		status int
	}
	var all []sending
	add := func(what string, present func(*http.Request)) {
		alone := t.sent(present).status
		for range each {
			all = append(all, sending{what, t.request(t.Org, "/resource", present), alone})
		}
	}
	add("valid", t.Present)
	for what, present := range t.Refused {
		add(what, present)
	}
	var wg sync.WaitGroup
	for _, one := range all {
		wg.Go(func() {
			if got := t.send(one.r); got.status != one.status {
				t.Errorf("%s: got %d, and %d alone (%v)", one.what, got.status, one.status, got.err)
			}
		})
	}
	wg.Wait()
}

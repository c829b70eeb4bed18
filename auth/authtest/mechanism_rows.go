package authtest

import (
	"cmp"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/suite"
)

func nothing(*http.Request) {}

func (t mechanismTest) absent() {
	for what, present := range map[string]func(*http.Request){
		"no header":     nothing,
		"other headers": func(r *http.Request) { r.Header.Set("X-Unrelated", "1"); r.Header.Set("Cookie", "unrelated=1") },
	} {
		t.inside(present, func(r *http.Request) {
			got := t.Mechanism.Presented(r)
			suite.Check(t, got == auth.Absent, "%s: presence %d, want Absent", what, got)
		})
		t.want(what, t.sent(present), http.StatusUnauthorized)
	}
}

func (t mechanismTest) presented() {
	for what, present := range t.credentials() {
		t.inside(present, func(r *http.Request) {
			looked, recorded := t.directory.counts(), t.Records()
			first := t.Mechanism.Presented(r)
			suite.Check(t, first != auth.Absent, "%s: Absent, so that it would be ignored and not refused", what)
			changed := r.Clone(r.Context())
			body := strings.NewReader("x")
			changed.Body, changed.ContentLength, changed.Method, changed.RemoteAddr = io.NopCloser(body), 1, http.MethodPost, ""
			changed.URL.Path, changed.URL.RawQuery, changed.Host = "/other", "a=b", "other.example"
			again := t.Mechanism.Presented(changed)
			suite.Check(t, again == first, "%s: presence %d with another body, URL and method, want %d", what, again, first)
			suite.Check(t, body.Len() == 1, "%s: Presented reads the body", what)
			suite.Check(t, maps.Equal(t.directory.counts(), looked), "%s: Presented looked something up", what)
			suite.Check(t, t.Records() == recorded, "%s: Presented recorded something", what)
		})
	}
}

// credentials returns how each kind of request has its credential: a valid one, and those that are refused.
func (t mechanismTest) credentials() map[string]func(*http.Request) {
	all := map[string]func(*http.Request){"valid": t.Present}
	maps.Copy(all, t.Refused)
	return all
}

func (t mechanismTest) admitted() {
	got := t.sent(t.Present)
	t.want("a valid credential", got, http.StatusOK)
	p := got.principal
	named := string(p.Org) == t.Org && p.Account != "" && p.Caller != "" && p.Mechanism != ""
	suite.Check(t, named, "org %q, account %q, caller %q, mechanism %q", p.Org, p.Account, p.Caller, p.Mechanism)
	for _, id := range []string{p.Account, p.Caller} {
		_, err := t.Directory.Account(t.Context(), auth.OrgKey(t.Org), id)
		suite.Check(t, err == nil, "account %q: %v", id, err)
	}
}

func (t mechanismTest) wrong() {
	suite.Check(t, len(t.Refused) > 0, "Candidate.Refused is empty")
	body := ""
	for what, present := range t.Refused {
		got := t.sent(present)
		t.want(what, got, http.StatusUnauthorized)
		body = cmp.Or(body, got.body)
		suite.Check(t, got.body == body, "%s: got %s, and for another reason %s", what, got.body, body)
		suite.Check(t, len(got.challenges) > 0, "%s: without a challenge, which a 401 must have", what)
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
	suite.Check(t, alike || got.status != http.StatusUnauthorized, "%s: got %s, and another body for a wrong credential", what, got.body)
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
	t.refusedWithout(accounts)
	t.want("after that", t.sent(t.Present), http.StatusOK)
}

func (t mechanismTest) app() {
	if t.sent(t.Present).principal.App != "" {
		t.refusedWithout(apps)
	}
}

// refusedWithout has the account or the app of a valid credential end.
func (t mechanismTest) refusedWithout(kind string) {
	for _, how := range []string{disabled, deleted} {
		t.while(kind, how, func() { t.refusedAlike(how) })
	}
}

func (t mechanismTest) directoryDown() {
	for _, kind := range t.lookups() {
		t.while(kind, down, func() {
			t.want("while "+kind+" cannot be looked up", t.sent(t.Present), http.StatusServiceUnavailable)
		})
	}
	t.want("after that", t.sent(t.Present), http.StatusOK)
}

// lookups returns the kinds that a valid request looks up.
func (t mechanismTest) lookups() []string {
	before := t.directory.counts()
	t.sent(t.Present)
	after := t.directory.counts()
	kinds := slices.DeleteFunc([]string{apps, accounts, roles}, func(kind string) bool { return after[kind] == before[kind] })
	suite.Check(t, len(kinds) > 0, "a valid request looks up nothing in the directory")
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
	t.inside(t.Present, func(r *http.Request) {
		_, err := t.Mechanism.Authenticate(suite.Ended(t), r, auth.TenantFrom(r.Context()))
		suite.Check(t, errors.Is(err, auth.ErrUnavailable), "with a context that has ended: error %v, want auth.ErrUnavailable", err)
	})
	for _, kind := range t.lookups() {
		began := time.Now()
		t.while(kind, hangs, func() {
			t.want("while the look-up of "+kind+" hangs", t.sent(t.Present), http.StatusServiceUnavailable)
		})
		suite.Check(t, time.Since(began) < hung, "the look-up of %s does not use the context of Authenticate, which has a timeout", kind)
	}
}

func (t mechanismTest) records() {
	check := func(what string, send func() *reply) {
		before := t.Records()
		suite.Check(t, send().status == http.StatusOK || t.Records() == before, "%s: recorded", what)
	}
	valid := func() *reply { return t.sent(t.Present) }
	for what, present := range t.Refused {
		check(what, func() *reply { return t.sent(present) })
	}
	check("at another org", t.sentToOther)
	t.while(accounts, disabled, func() { check("a disabled account", valid) })
	t.while(accounts, down, func() { check("a directory that fails", valid) })
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
				told := len(part) >= least && strings.Contains(got.err.Error()+got.body, part)
				suite.Check(t, !told, "%s: the error has %d characters of the credential", what, len(part))
			}
		}
	}
}

// beside sends another mechanism's credential, too. A cookie yields to a header.
func (t mechanismTest) beside() {
	var presence auth.Presence
	t.inside(t.Present, func(r *http.Request) { presence = t.Mechanism.Presented(r) })
	before := t.Records()
	got := t.sent(func(r *http.Request) {
		t.Present(r)
		r.Header.Set(rivalHeader, "1")
	})
	if presence == auth.InHeader {
		t.want("beside another header", got, http.StatusBadRequest)
	} else {
		suite.Check(t, got.principal.Mechanism == theRival.Name(), "a cookie beside another's header: got %d %s", got.status, got.body)
	}
	suite.Check(t, t.Records() == before, "a use was recorded that did not admit the request")
}

// twice doubles each header of the credential. A proxy and a server may read different ones.
func (t mechanismTest) twice() {
	got := t.sent(func(r *http.Request) {
		t.Present(r)
		for name, values := range r.Header {
			r.Header[name] = append(slices.Clone(values), values...)
		}
	})
	suite.Check(t, got.status/100 == 4, "got %d, want a refusal", got.status)
}

func (t mechanismTest) making() {
	p := t.sent(t.Present).principal
	if t.Proof {
		suite.Check(t, !p.Authenticated.IsZero(), "a proof without Authenticated, so that it is limited as a token is")
	} else {
		suite.Check(t, p.Authenticated.IsZero(), "Authenticated although whoever has the credential can send it: it would make what has no end")
		suite.Check(t, p.AsAdministrator(true).MayMake(auth.Everything(p.Account)) != nil, "it may make a credential without limits")
	}
	suite.Check(t, !t.Ends || !p.Expires.IsZero(), "no Expires: what it makes would outlive it")
	for _, chain := range p.Scope.Missing(p.Granted) {
		t.Errorf("it may grant %q, which it may not do", chain)
	}
}

func (t mechanismTest) aliasing() {
	t.while(accounts, roled, func() {
		first := t.sent(t.Present).principal.Roles
		want := slices.Clone(first)
		for i := range first {
			first[i] = "scribbled"
		}
		got := t.sent(t.Present).principal.Roles
		suite.Check(t, slices.Equal(got, want), "the next request has the roles %q, want %q: clone the account's", got, want)
	})
}

func (t mechanismTest) atOnce() {
	var calls []func()
	for what, present := range t.credentials() {
		alone := t.sent(present).status
		for range 16 {
			r := t.request(t.Org, "/resource", present)
			calls = append(calls, func() {
				got := t.send(r)
				suite.Check(t, got.status == alone, "%s: got %d, and %d alone (%v)", what, got.status, alone, got.err)
			})
		}
	}
	suite.AtOnce(len(calls), func(i int) error {
		calls[i]()
		return nil
	})
}

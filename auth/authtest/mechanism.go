package authtest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

// Candidate is a mechanism for CheckMechanism, with stores that hold a valid credential of the
// account of an org.
type Candidate struct {
	Mechanism auth.Mechanism // required

	// Directory has the org Org with the account of the credential, and its app if it has one. It
	// also has the org Other. All of these are enabled. Required.
	Directory  auth.Directory
	Org, Other string

	// Present adds a valid credential to a request, as a client does. The URL and the method are
	// set: https://api.example.com/{org}/v2/… for a Guard that Configure does not change.
	// Each call adds another one if a credential is for one use. Required.
	Present func(r *http.Request)

	// Refused adds a credential in the right form that must be refused, for each reason: never
	// issued, another secret, ended. Required, at least one.
	Refused map[string]func(r *http.Request)

	// Records returns how much the mechanism has recorded so far: nonces, uses. nil: nothing.
	Records func() int

	// Break makes the mechanism's own stores fail, or work again. nil: it has none.
	Break func(broken bool)

	// Proof is for a credential that says when its account proved who it is: a signature, or a
	// session after a password. The time is in Authenticated. A principal of any other credential
	// must have none, so that MayMake limits it as a token.
	Proof bool

	// Ends is for a credential with an end, which its principal must have in Expires.
	Ends bool

	// Configure changes the Guard before its first use: its Brand, BaseURL, Versions, Scopes or
	// Now. nil: the defaults.
	Configure func(g *auth.Guard)
}

// CheckMechanism checks what the comment of auth.Mechanism promises, as named subtests. It builds
// a Guard around the mechanism, sends requests, and makes its directory fail. Run it with the race
// detector. It takes some seconds.
//
// It does not check whether a credential can be guessed, how it is stored, and how long a
// comparison takes.
func CheckMechanism(t *testing.T, c Candidate) {
	s := newMechanismSuite(c)
	for _, row := range mechanismRows {
		t.Run(row.name, func(t *testing.T) { row.check(mechanismTest{t, s}) })
	}
}

var mechanismRows = []struct {
	name  string
	check func(mechanismTest)
}{
	{"a request without the credential", mechanismTest.absent},
	{"Presented reads headers only", mechanismTest.presented},
	{"the principal of a valid credential", mechanismTest.admitted},
	{"a wrong credential is 401, whatever is wrong", mechanismTest.wrong},
	{"a credential of another org", mechanismTest.otherOrg},
	{"a disabled or deleted account", mechanismTest.account},
	{"a disabled or deleted app", mechanismTest.app},
	{"a directory that fails", mechanismTest.directoryDown},
	{"a store that fails", mechanismTest.storeDown},
	{"a context that ends", mechanismTest.ended},
	{"a refusal records nothing", mechanismTest.records},
	{"a refusal tells no secret", mechanismTest.secrets},
	{"the credential of another mechanism beside it", mechanismTest.beside},
	{"the credential given twice", mechanismTest.twice},
	{"what the principal may make", mechanismTest.making},
	{"the principal is that of one request", mechanismTest.aliasing},
	{"many requests at once", mechanismTest.atOnce},
}

// mechanismSuite is a server with the mechanism of a Candidate.
type mechanismSuite struct {
	Candidate
	directory *tampered
	guard     *auth.Guard
	mux       http.Handler
}

// hung is how long a directory that does not answer waits for its context.
const hung = 5 * time.Second

func newMechanismSuite(c Candidate) *mechanismSuite {
	s := &mechanismSuite{Candidate: c, directory: &tampered{Directory: c.Directory, other: c.Other, roles: []string{"one", "two"}}}
	s.directory.down.Store(none)
	s.directory.hangs.Store(none)
	s.guard = &auth.Guard{
		BaseURL:    "https://api.example.com",
		Directory:  s.directory,
		Mechanisms: []auth.Mechanism{c.Mechanism, rival{}},
		Timeout:    time.Second, // long enough that a busy machine is no outage
		Observe: func(ctx context.Context, e auth.Event) {
			if told, ok := ctx.Value(replyKey{}).(*reply); ok {
				told.err = e.Err
			}
		},
	}
	if c.Configure != nil {
		c.Configure(s.guard)
	}
	mux := s.guard.Mux()
	mux.HandleFunc("GET /resource", auth.Authenticated, func(_ http.ResponseWriter, r *http.Request) {
		r.Context().Value(replyKey{}).(*reply).principal = auth.From(r.Context())
	})
	mux.HandleFunc("GET /inside", auth.Public, func(_ http.ResponseWriter, r *http.Request) {
		r.Context().Value(insideKey{}).(func(*http.Request))(r)
	})
	s.mux = mux
	return s
}

type (
	replyKey  struct{}
	insideKey struct{}
)

// reply is the answer to one request, and what the server knows about it.
type reply struct {
	status     int
	body       string
	challenges []string
	principal  auth.Principal
	err        error // what the Guard's observer was told
}

type mechanismTest struct {
	testing.TB
	*mechanismSuite
}

// request returns a request to a path of an org, with what present adds.
func (t mechanismTest) request(org, path string, present func(*http.Request)) *http.Request {
	version := "v2"
	if t.guard.Versions != nil {
		version = t.guard.Versions[0]
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, t.guard.BaseURL+"/"+org+"/"+version+path, nil)
	present(r)
	return r
}

func (t mechanismTest) send(r *http.Request) *reply {
	got := new(reply)
	w := httptest.NewRecorder()
	t.mux.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), replyKey{}, got)))
	got.status, got.body, got.challenges = w.Code, w.Body.String(), w.Header().Values("WWW-Authenticate")
	return got
}

func (t mechanismTest) sent(present func(*http.Request)) *reply {
	return t.send(t.request(t.Org, "/resource", present))
}

// inside calls do with a request as a mechanism gets it.
func (t mechanismTest) inside(present func(*http.Request), do func(*http.Request)) {
	t.Helper()
	ran := false
	r := t.request(t.Org, "/inside", present)
	w := httptest.NewRecorder()
	t.mux.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), insideKey{}, func(r *http.Request) {
		ran = true
		do(r)
	})))
	if !ran {
		t.Errorf("a public route was answered with %d %s: does the Directory have the org, and its Guard the path?", w.Code, w.Body)
	}
}

// want fails unless the reply has the status.
func (t mechanismTest) want(what string, got *reply, status int) {
	t.Helper()
	switch {
	case got.status == status:
	case got.status == http.StatusInternalServerError:
		t.Errorf("%s: the error is neither an *auth.Error nor does it wrap auth.ErrUnavailable: %v", what, got.err)
	default:
		t.Errorf("%s: got %d %s, want %d (%v)", what, got.status, strings.TrimSpace(got.body), status, got.err)
	}
}

func (t mechanismTest) recorded() int {
	if t.Records == nil {
		return 0
	}
	return t.Records()
}

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
	if p.Org != t.Org || p.Account == "" || p.Caller == "" || p.Mechanism == "" {
		t.Errorf("org %q, account %q, caller %q, mechanism %q", p.Org, p.Account, p.Caller, p.Mechanism)
	}
	for _, id := range []string{p.Account, p.Caller} {
		if _, err := t.Directory.Account(t.Context(), t.Org, id); err != nil {
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
	elsewhere := t.request(t.Other, "/resource", nothing)
	elsewhere.Header = t.request(t.Org, "/resource", t.Present).Header
	return t.send(elsewhere)
}

func (t mechanismTest) account() {
	defer t.directory.accounts.Store(asItIs)
	for what, state := range states {
		t.directory.accounts.Store(state)
		t.refusedAlike(what)
	}
	t.directory.accounts.Store(asItIs)
	t.want("after that", t.sent(t.Present), http.StatusOK)
}

func (t mechanismTest) app() {
	if t.sent(t.Present).principal.App == "" {
		return
	}
	defer t.directory.apps.Store(asItIs)
	for what, state := range states {
		t.directory.apps.Store(state)
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
	if presence == auth.Header {
		t.want("beside another header", got, http.StatusBadRequest)
	} else if got.principal.Mechanism != (rival{}).name() {
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
	if !t.Proof && p.MayMake(true, auth.Everything(p.Account)) == nil {
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

// tampered is a directory that a suite changes. Its orgs never fail, because the Guard looks them
// up before the mechanism runs.
type tampered struct {
	auth.Directory
	other          string
	calls          [3]atomic.Int64
	down, hangs    atomic.Int32 // the kind of look-up, or none
	accounts, apps atomic.Int32
	roles          []string
}

// Kinds of look-ups.
const (
	apps int32 = iota
	accounts
	roles
	none
)

var kindNames = [...]string{"apps", "accounts", "roles"}

func (d *tampered) counts() (counts [3]int64) {
	for kind := range counts {
		counts[kind] = d.calls[kind].Load()
	}
	return counts
}

// States of the accounts and the apps.
const (
	asItIs int32 = iota
	disabled
	gone
	roled // with roles that all callers share, as Directory allows
)

var states = map[string]int32{"disabled": disabled, "deleted": gone}

var errDown = errors.New("authtest: the directory is down")

func (d *tampered) answer(ctx context.Context, kind int32) error {
	d.calls[kind].Add(1)
	if d.hangs.Load() == kind {
		select {
		case <-ctx.Done():
		case <-time.After(hung):
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if d.down.Load() == kind {
		return errDown
	}
	return nil
}

func (d *tampered) App(ctx context.Context, clientKey string) (*auth.App, error) {
	if err := d.answer(ctx, apps); err != nil {
		return nil, err
	}
	app, err := d.Directory.App(ctx, clientKey)
	switch state := d.apps.Load(); {
	case err != nil || state == asItIs:
		return app, err
	case state == gone:
		return nil, auth.ErrNotFound
	}
	changed := *app
	changed.Disabled = true
	return &changed, nil
}

// Account finds each account in the other org, too: ids are unique only within an org.
func (d *tampered) Account(ctx context.Context, org, id string) (*auth.Account, error) {
	if err := d.answer(ctx, accounts); err != nil {
		return nil, err
	}
	if org == d.other {
		return &auth.Account{ID: id, Org: org}, nil
	}
	account, err := d.Directory.Account(ctx, org, id)
	state := d.accounts.Load()
	switch {
	case err != nil || state == asItIs:
		return account, err
	case state == gone:
		return nil, auth.ErrNotFound
	}
	changed := *account
	changed.Disabled = state == disabled
	if state == roled {
		changed.Roles = d.roles
	}
	return &changed, nil
}

func (d *tampered) Roles(ctx context.Context, org string, names []string) ([]auth.Role, error) {
	if err := d.answer(ctx, roles); err != nil {
		return nil, err
	}
	return d.Directory.Roles(ctx, org, names)
}

const rivalHeader = "X-Authtest-Rival"

// rival is another mechanism of the same server.
type rival struct{}

func (rival) Presented(r *http.Request) auth.Presence {
	if r.Header[rivalHeader] != nil {
		return auth.Header
	}
	return auth.Absent
}

func (rival) Authenticate(_ context.Context, _ *http.Request, t *auth.Tenant) (auth.Principal, error) {
	return auth.Principal{Org: t.Org.Key(), Account: "rival", Caller: "rival", Mechanism: rival{}.name()}, nil
}

func (rival) name() string { return "authtest rival" }

func (rival) Challenge(error) string { return "" }

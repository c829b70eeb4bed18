package authtest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/suite"
)

// Candidate is a mechanism for CheckMechanism, with stores that hold a valid credential of the
// account of an org.
type Candidate struct {
	Mechanism auth.Mechanism // required

	// Directory has the org with the code Org, the account of the credential, and its app if it has
	// one. All of these are enabled. Required.
	Directory auth.Directory
	Org       string

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
	s := newMechanismTest(c)
	suite.Run(t, mechanismRows, func(t *testing.T, check func(mechanismTest)) {
		s.TB = t
		check(s)
	})
}

var mechanismRows = suite.Tests[func(mechanismTest)]{
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

// mechanismTest is a server with the mechanism of a Candidate, in a subtest.
type mechanismTest struct {
	testing.TB
	Candidate
	directory *tampered
	guard     *auth.Guard
	mux       http.Handler
}

// hung is how long a directory that does not answer waits for its context.
const hung = 5 * time.Second

func newMechanismTest(c Candidate) mechanismTest {
	if c.Records == nil {
		c.Records = func() int { return 0 }
	}
	directory := &tampered{Directory: c.Directory, org: c.Org, roles: []string{"one", "two"}, calls: map[string]int{}}
	guard := &auth.Guard{
		Roles:      auth.RolesDoNotLimit,
		BaseURL:    "https://api.example.com",
		Directory:  directory,
		Mechanisms: []auth.Mechanism{c.Mechanism, theRival},
		Timeout:    time.Second, // long enough that a busy machine is no outage
		Observe: func(ctx context.Context, e auth.Event) {
			if told, ok := ctx.Value(replyKey{}).(*reply); ok {
				told.err = e.Err
			}
		},
	}
	if c.Configure != nil {
		c.Configure(guard)
	}
	mux := guard.Mux()
	handle := func(_ http.ResponseWriter, r *http.Request) {
		told := r.Context().Value(replyKey{}).(*reply)
		told.principal = auth.From(r.Context())
		told.do(r)
	}
	mux.HandleFunc("GET /resource", auth.Authenticated, handle)
	mux.HandleFunc("GET /inside", auth.Public, handle)
	return mechanismTest{Candidate: c, directory: directory, guard: guard, mux: mux}
}

type replyKey struct{}

// reply is the answer to one request, and what the server knows about it.
type reply struct {
	status     int
	body       string
	challenges []string
	principal  auth.Principal
	err        error               // what the Guard's observer was told
	do         func(*http.Request) // what the handler does
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

func (t mechanismTest) send(r *http.Request) *reply { return t.serve(r, &reply{do: nothing}) }

func (t mechanismTest) serve(r *http.Request, got *reply) *reply {
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
	got := t.serve(t.request(t.Org, "/inside", present), &reply{do: do})
	suite.Check(t, got.status == http.StatusOK, "a public route: got %d %s: does the Directory have the org, and its Guard the path?", got.status, got.body)
}

// while runs do while something is wrong with one kind of look-ups.
func (t mechanismTest) while(kind, how string, do func()) {
	t.directory.wrong.Store(&tampering{kind, how})
	defer t.directory.wrong.Store(nil)
	do()
}

// want fails unless the reply has the status.
func (t mechanismTest) want(what string, got *reply, status int) {
	t.Helper()
	suite.Check(t, got.status == status, "%s: got %d %s, want %d (%v)", what, got.status, strings.TrimSpace(got.body), status, got.err)
	suite.Check(t, got.status != http.StatusInternalServerError, "%s: that error is neither an *auth.Error nor does it wrap auth.ErrUnavailable", what)
}

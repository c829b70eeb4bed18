package auth_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope"
)

// The table as clients know it. A change here is a change of the interface.
var codes = map[string]struct {
	status int
	code   string
}{
	"accessDenied.noCredentialsSupplied":        {401, "kNoCredentialsSupplied"},
	"invalidArgument.ambiguousCredentials":      {400, "kInvalidArgument"},
	"invalidArgument.malformedRequestSignature": {400, "kInvalidRequestSignature"},
	"accessDenied.invalidRequestSignature":      {401, "kInvalidRequestSignature"},
	"invalidArgument.staleRequestSignature":     {401, "kStaleRequestSignature"},
	"accessDenied.replayedRequest":              {401, "kInvalidRequestSignature"},
	"accessDenied.principal":                    {403, "kAccessDenied"},
	"accessDenied.invalidJwt":                   {401, "kInvalidCredentials"},
	"accessDenied.invalidJwtApp":                {401, "kInvalidCredentials"},
	"expired.jwt":                               {401, "kTokenExpired"},
	"accessDenied.jwtNotActive":                 {401, "kInvalidCredentials"},
	"accessDenied.scope":                        {403, "kAccessDenied"},
	"accessDenied.unspecified":                  {403, "kAccessDenied"},
	"invalidArgument.authScope":                 {400, "kAuthScope"},
	"accessDenied.maxJwtPerSubject":             {403, "kAccessDenied"},
	"notFound.appRsa":                           {404, "kNotFound"},
	"notFound.app":                              {404, "kNotFound"},
	"notFound.env":                              {404, "kNotFound"},
	"notFound.unspecified":                      {404, "kNotFound"},
	"invalidArgument.invalidApiVersion":         {400, "kInvalidApiVersion"},
	"invalidArgument.path":                      {400, "kInvalidArgument"},
	"invalidArgument.method":                    {405, "kInvalidArgument"},
	"accessDenied.invalidCredentials":           {401, "kInvalidCredentials"},
	"accessDenied.accountLocked":                {429, "kAccountLocked"},
	"accessDenied.unverifiedLocation":           {403, "kUnverifiedLocation"},
	"invalidArgument.locationToken":             {401, "kInvalidArgument"},
	"accessDenied.sessionExpired":               {401, "kSessionExpired"},
	"accessDenied.loggedInElsewhere":            {401, "kLoggedInElsewhere"},
	"accessDenied.csrfTokenMismatch":            {403, "kCSRFTokenMismatch"},
	"accessDenied.reauthenticationRequired":     {403, "kAccessDenied"},
	"invalidArgument.query":                     {400, "kInvalidArgument"},
	"invalidArgument.body":                      {400, "kInvalidArgument"},
	"invalidArgument.option":                    {400, "kInvalidArgument"},
	"accessDenied.delegation":                   {403, "kAccessDenied"},
	"conflict.unspecified":                      {409, "kConflict"},
	"unsupportedMediaType.unspecified":          {415, "kInvalidArgument"},
	"tooLarge.unspecified":                      {413, "kRequestTooLarge"},
	"throttled.unspecified":                     {429, "kThrottled"},
	"tooBusy.storeFull":                         {503, "kTooBusy"},
	"error.storeUnavailable":                    {503, "kError"},
	"error.unspecified":                         {500, "kError"},
}

func TestFaultsAreWhatClientsKnow(t *testing.T) {
	for detail, want := range codes {
		f := (&auth.Error{Detail: detail}).Fault()
		if f.Detail != detail || f.Status != want.status || f.Code != want.code || f.Message == "" {
			t.Errorf("%s: got %+v, want %+v", detail, f, want)
		}
	}
	if f := (&auth.Error{Detail: "accessGranted.always"}).Fault(); f.Status != 500 || f.Detail != auth.DetailInternal {
		t.Errorf("an unknown detail answered %+v", f)
	}
}

func TestAFailureIsNoAbsence(t *testing.T) {
	tests := []struct {
		err  error
		want bool
	}{
		{nil, false},
		{auth.ErrNotFound, true},
		{fmt.Errorf("row: %w", auth.ErrNotFound), true},
		{auth.ErrUnavailable, false},
		{fmt.Errorf("%w: %w", auth.ErrUnavailable, auth.ErrNotFound), false},
		{fmt.Errorf("%w: %w", auth.ErrNotFound, auth.ErrUnavailable), false},
		{errors.Join(auth.ErrNotFound, fmt.Errorf("shard: %w", auth.ErrUnavailable)), false},
		{errors.New("not found"), false},
	}
	for _, test := range tests {
		if got := auth.IsNotFound(test.err); got != test.want {
			t.Errorf("IsNotFound(%v) = %t", test.err, got)
		}
	}
}

// shaped is an error of a package that does not import auth, and has its own fault.
type shaped struct{}

func (shaped) Error() string { return "two things are wrong" }
func (shaped) Fault() *envelope.Fault {
	return &envelope.Fault{Detail: "invalidArgument.query", Code: "kInvalidArgument", Status: 400,
		Faults: []*envelope.Fault{{Detail: "invalidArgument.query", Path: "limit"}}}
}

// sunny is a foreign error with a status of success, or with no status.
type sunny int

func (sunny) Error() string            { return "all is well" }
func (s sunny) Fault() *envelope.Fault { return &envelope.Fault{Detail: "fine", Status: int(s)} }

func TestARefusalIsNoSuccess(t *testing.T) {
	for _, status := range []int{0, 200, 204, 304, 1000} {
		w := httptest.NewRecorder()
		auth.Fail(w, httptest.NewRequest("GET", "/", nil), sunny(status))
		if w.Code != 500 {
			t.Errorf("status %d was answered with %d", status, w.Code)
		}
	}
}

func TestFailKeepsAResourcePolicy(t *testing.T) {
	w := httptest.NewRecorder()
	w.Header().Set("Cross-Origin-Resource-Policy", "cross-origin")
	auth.Fail(w, httptest.NewRequest("GET", "/", nil), auth.ErrNotFound)
	if got := w.Header()["Cross-Origin-Resource-Policy"]; !cmp.Equal(got, []string{"cross-origin"}) {
		t.Errorf("got %v", got)
	}
}

func TestFailRecognisesErrors(t *testing.T) {
	tests := []struct {
		name   string
		err    error
		status int
		detail string
	}{
		{"an Error", &auth.Error{Detail: auth.DetailConflict}, 409, "conflict.unspecified"},
		{"a wrapped Error", fmt.Errorf("creating: %w", &auth.Error{Detail: auth.DetailConflict}), 409, "conflict.unspecified"},
		{"not found", fmt.Errorf("note 7: %w", auth.ErrNotFound), 404, "notFound.unspecified"},
		{"forbidden", auth.ErrForbidden, 403, "accessDenied.unspecified"},
		{"a conflict", fmt.Errorf("store: %w", auth.ErrConflict), 409, "conflict.unspecified"},
		{"a store that did not answer", auth.ErrUnavailable, 503, "error.storeUnavailable"},
		{"a store that failed to find its way", fmt.Errorf("%w: %w", auth.ErrUnavailable, auth.ErrNotFound), 503, "error.storeUnavailable"},
		{"a store that failed with a refusal of its own", fmt.Errorf("%w: %w", auth.ErrUnavailable, &auth.Error{Detail: auth.DetailForbidden}), 503, "error.storeUnavailable"},
		{"a deadline that passed", context.DeadlineExceeded, 503, "error.storeUnavailable"},
		{"a client that hung up", fmt.Errorf("query: %w", context.Canceled), 503, "error.storeUnavailable"},
		{"a body over its bound", &http.MaxBytesError{Limit: 1}, 413, "tooLarge.unspecified"},
		{"a body over its bound, taken for a malformed one", &auth.Error{Detail: auth.DetailBody, Err: fmt.Errorf("note: %w", &http.MaxBytesError{Limit: 1})}, 413, "tooLarge.unspecified"},
		{"a body that is malformed", &auth.Error{Detail: auth.DetailBody, Err: errors.New("unexpected end")}, 400, "invalidArgument.body"},
		{"an error that answers for itself", fmt.Errorf("parsing: %w", shaped{}), 400, "invalidArgument.query"},
		{"anything else", errors.New("password is hunter2"), 500, "error.unspecified"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			auth.Fail(w, httptest.NewRequest("GET", "/", nil), test.err)
			var fault *envelope.Fault
			err := envelope.Decode(w.Body, 1<<10, new(any))
			if !errors.As(err, &fault) {
				t.Fatalf("not a fault: %v", err)
			}
			if w.Code != test.status || fault.Status != test.status || fault.Detail != test.detail {
				t.Errorf("got %d %+v, want %d %s", w.Code, fault, test.status, test.detail)
			}
			want := http.Header{
				"Content-Type":           {"application/json; charset=utf-8"},
				"Cache-Control":          {"no-store"},
				"X-Content-Type-Options": {"nosniff"},

				"Cross-Origin-Resource-Policy": {"same-origin"},
			}
			if test.status == 503 {
				want["Retry-After"] = []string{"1"}
			}
			if diff := cmp.Diff(want, w.Header()); diff != "" {
				t.Error(diff)
			}
			if strings.Contains(fault.Error(), "hunter2") {
				t.Error("the cause left the server")
			}
		})
	}
}

func TestFailKeepsChildren(t *testing.T) {
	w := httptest.NewRecorder()
	auth.Fail(w, httptest.NewRequest("GET", "/", nil), shaped{})
	if !strings.Contains(w.Body.String(), `"path":"limit"`) {
		t.Errorf("got %s", w.Body)
	}
}

func TestErrorTellsEachThingThatIsWrong(t *testing.T) {
	err := &auth.Error{Detail: auth.DetailBody, Faults: []*auth.Error{
		{Detail: auth.DetailBody, Path: "name", Reason: "missing"},
		{Detail: auth.DetailBody, Path: "age", Reason: "not a number"},
	}}
	var paths []string
	for _, child := range err.Fault().Faults {
		paths = append(paths, child.Path+" "+child.Reason)
	}
	if diff := cmp.Diff([]string{"name missing", "age not a number"}, paths); diff != "" {
		t.Error(diff)
	}
}

func TestGuardFailsUnderItsBrandOutsideTheMount(t *testing.T) {
	g := guard()
	g.Brand.Faults = "acme"
	w := httptest.NewRecorder()
	g.Fail(w, httptest.NewRequest("GET", "/", nil), auth.ErrNotFound)
	if got := errCode(t, w.Body.Bytes()); w.Code != 404 || got != "acme.notFound.unspecified" {
		t.Errorf("got %d %s", w.Code, got)
	}
	observed := 0
	g = guard()
	g.Observe = func(context.Context, auth.Event) { observed++ }
	mux := g.Mux()
	mux.HandleFunc("GET /x", auth.Public, func(w http.ResponseWriter, r *http.Request) { g.Fail(w, r, auth.ErrForbidden) })
	if w := do(mux, "GET", "/acme/v2/x"); w.Code != 403 || observed != 2 {
		t.Errorf("inside: got %d, %d observed", w.Code, observed)
	}
}

func TestRetryAfterIsRoundedUp(t *testing.T) {
	for _, test := range []struct {
		after time.Duration
		want  string
	}{{0, "1"}, {time.Millisecond, "1"}, {time.Second, "1"}, {1001 * time.Millisecond, "2"}, {time.Hour, "3600"}} {
		w := httptest.NewRecorder()
		auth.Fail(w, httptest.NewRequest("GET", "/", nil), &auth.Error{Detail: auth.DetailLocked, RetryAfter: test.after})
		if got := w.Header().Get("Retry-After"); got != test.want {
			t.Errorf("%v: got %s, want %s", test.after, got, test.want)
		}
	}
}

func TestErrorKeepsItsCause(t *testing.T) {
	cause := errors.New("bad MAC")
	err := &auth.Error{Detail: auth.DetailInvalidSignature, Reason: "hint", Err: cause}
	if !errors.Is(err, cause) || err.Error() != "auth: accessDenied.invalidRequestSignature (hint): bad MAC" {
		t.Errorf("got %v", err)
	}
}

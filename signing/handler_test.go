package signing_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/signing"
)

// site is a server at noon with the mount /acme/v2. It replies with the method, the
// path and the client key of a request.
type site struct {
	*server
	*httptest.Server
	served  atomic.Int64
	refused chan error // what Denied got
}

func newSite(t *testing.T) *site {
	s := &site{server: newServer(t), refused: make(chan error, 16)}
	s.Denied = func(_ *http.Request, err error) { s.refused <- err }
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.served.Add(1)
		fmt.Fprint(w, r.Method, " ", strings.TrimSuffix(r.URL.Path, "/"), " by ", r.Header.Get(names.ClientKey))
	})
	s.Server = httptest.NewServer(http.StripPrefix("/acme/v2", s.Handler(echo)))
	t.Cleanup(s.Close)
	return s
}

// send writes a request byte for byte, which no client of net/http would do. It
// returns the reply with its body.
func (s *site) send(t *testing.T, lines ...string) (*http.Response, string) {
	t.Helper()
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	lines = append(lines, "Host: api.example.com", "Connection: close", "", "")
	if _, err := io.WriteString(conn, strings.Join(lines, "\r\n")); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

// headers are the header lines of a request.
func headers(r *http.Request) []string {
	var lines []string
	for name, values := range r.Header {
		for _, value := range values {
			lines = append(lines, name+": "+value)
		}
	}
	return lines
}

// isRefused expects the latest refusal to have the given reason.
func (s *site) isRefused(t *testing.T, want error) {
	t.Helper()
	err := <-s.refused
	if !errors.Is(err, want) || errors.Is(err, signing.ErrAmbiguous) != (want == signing.ErrAmbiguous) {
		t.Errorf("refused for %v, want %v", err, want)
	}
}

func TestHandlerOverHTTP(t *testing.T) {
	with := func(spoil func(*http.Request)) func() []string {
		return func() []string {
			r := base()
			spoil(r)
			return headers(r)
		}
	}
	honest := with(func(*http.Request) {})
	tests := []struct {
		name    string
		line    string
		headers func() []string
		status  int
		refused error
	}{
		{"an honest request", "GET /acme/v2/connections?limit=5 HTTP/1.1", honest, 200, nil},
		{"a trailing slash", "GET /acme/v2/connections/ HTTP/1.1", honest, 200, nil},
		{"S01 nonce missing", "GET /acme/v2/connections HTTP/1.1", with(drop(names.Nonce)), 400, signing.ErrMalformed},
		{"S01b client key alone", "GET /acme/v2/connections HTTP/1.1",
			with(drop(names.Nonce, names.Timestamp, names.Signature)), 401, signing.ErrNoSignature},
		{"S04 unknown client key", "GET /acme/v2/connections HTTP/1.1", with(set(names.ClientKey, "nobody")), 401, signing.ErrMismatch},
		{"S07 request method get", "get /acme/v2/connections HTTP/1.1", honest, 405, signing.ErrMethod},
		{"S08 another method", "DELETE /acme/v2/connections HTTP/1.1", honest, 401, signing.ErrMismatch},
		{"S13 another query", "GET /acme/v2/connections?limit=1000 HTTP/1.1", honest, 200, nil},
		{"S15b an account without a signature", "GET /acme/v2/connections HTTP/1.1",
			func() []string { return []string{names.Account + ": a"} }, 400, signing.ErrAmbiguous},
		{"S16 a nonce twice, in mixed case", "GET /acme/v2/connections HTTP/1.1",
			func() []string { return append(honest(), "sErViCe-cLiEnT-nOnCe: 0123456789abcdef") }, 400, signing.ErrAmbiguous},
		{"S16 header names in lower case", "GET /acme/v2/connections HTTP/1.1", func() []string {
			lines := honest()
			for i, line := range lines {
				name, value, _ := strings.Cut(line, ": ")
				lines[i] = strings.ToLower(name) + ": " + value
			}
			return lines
		}, 200, nil},
		{"S17 a nonce folded over two lines", "GET /acme/v2/connections HTTP/1.1", func() []string {
			return append(with(drop(names.Nonce))(), names.Nonce+": 01234567\r\n 89abcdef")
		}, 400, signing.ErrMalformed},
		{"S17 a client key of 8 KiB", "GET /acme/v2/connections HTTP/1.1",
			with(set(names.ClientKey, strings.Repeat("a", 8<<10))), 400, signing.ErrMalformed},
		{"S17 a nonce that is not ASCII", "GET /acme/v2/connections HTTP/1.1",
			with(set(names.Nonce, "aaaaaaaaaaaaaé")), 400, signing.ErrMalformed},
		{"N05 stale", "GET /acme/v2/connections HTTP/1.1", with(at("1780000000000")), 401, signing.ErrStale},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newSite(t)
			res, body := s.send(t, append([]string{test.line}, test.headers()...)...)
			if res.StatusCode != test.status {
				t.Fatalf("status %d, want %d: %s", res.StatusCode, test.status, body)
			}
			if got := res.Header.Get(names.ServerTime); got != "1790000000000" {
				t.Errorf("server time %q", got)
			}
			if test.status == 200 {
				if want := "GET /connections by " + clientKey; body != want {
					t.Errorf("body %q, want %q", body, want)
				}
				return
			}
			if s.served.Load() != 0 || len(s.replays.claimed()) != 0 {
				t.Error("served or recorded")
			}
			s.isRefused(t, test.refused)
			if res, body := s.send(t, append([]string{"GET /acme/v2/connections HTTP/1.1"}, honest()...)...); res.StatusCode != 200 {
				t.Errorf("an honest request afterwards: %s", body)
			}
		})
	}
}

func TestHandlerRefusesUncleanPaths(t *testing.T) {
	for name, target := range unclean {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			r := signed(http.MethodGet, target, noon)
			res, _ := s.send(t, append([]string{"GET /acme/v2" + target + " HTTP/1.1"}, headers(r)...)...)
			if res.StatusCode != 400 || res.Header.Get("Location") != "" {
				t.Errorf("status %d, Location %q", res.StatusCode, res.Header.Get("Location"))
			}
			// net/http itself refuses a malformed request line.
			if res.Header.Get(names.ServerTime) != "" {
				s.isRefused(t, signing.ErrPath)
			}
			if s.served.Load() != 0 {
				t.Error("served")
			}
		})
	}
}

// The replies to an unknown key, a wrong signature and a credential that Admit
// refuses must be equal, byte for byte.
func TestHandlerTellsStrangersNothing(t *testing.T) {
	answer := func(spoil func(*http.Request), admit func(context.Context, *http.Request, *signing.Key) error) string {
		s := newServer(t)
		s.Admit = admit
		r := base()
		spoil(r)
		w := httptest.NewRecorder()
		s.Handler(http.NotFoundHandler()).ServeHTTP(w, r)
		return fmt.Sprint(w.Code, w.Header(), w.Body)
	}
	want := answer(set(names.Signature, strings.Repeat("0", 64)), nil)
	if got := answer(set(names.ClientKey, "nobody"), nil); got != want {
		t.Errorf("S04 unknown client key:\n%s\nwrong signature:\n%s", got, want)
	}
	foreign := func(context.Context, *http.Request, *signing.Key) error {
		return fmt.Errorf("%w: key of another org", signing.ErrMismatch)
	}
	if got := answer(func(*http.Request) {}, foreign); got != want {
		t.Errorf("S12 key of another org:\n%s\nwrong signature:\n%s", got, want)
	}
	if !strings.HasPrefix(want, "401 ") || strings.Contains(want, "unknown") {
		t.Errorf("answer %s", want)
	}
}

// refusals are the errors of Verify, and what a client sees of each.
var refusals = []struct {
	err    error
	status int
	header http.Header
}{
	{signing.ErrReplayed, 401, http.Header{"Www-Authenticate": {`Signature error="replayed"`}}},
	{signing.ErrStale, 401, http.Header{"Www-Authenticate": {`Signature error="stale"`}}},
	{signing.ErrMismatch, 401, http.Header{"Www-Authenticate": {"Signature"}}},
	{signing.ErrNoSignature, 401, http.Header{"Www-Authenticate": {"Signature"}}},
	{signing.ErrMalformed, 400, nil},
	{signing.ErrAmbiguous, 400, nil},
	{signing.ErrPath, 400, nil},
	{signing.ErrMethod, 405, http.Header{"Allow": {"GET, HEAD, POST, PUT, PATCH, DELETE"}}},
	{signing.ErrFull, 503, http.Header{"Retry-After": {"1"}}},
	{errors.New("the disk is on fire"), 503, http.Header{"Retry-After": {"1"}}},
}

func TestRefusals(t *testing.T) {
	for _, test := range refusals {
		t.Run(test.err.Error(), func(t *testing.T) {
			w := refuseFor(t, test.err)
			header := http.Header{
				"Content-Type":           {"text/plain; charset=utf-8"},
				"Cache-Control":          {"no-store"},
				"X-Content-Type-Options": {"nosniff"},
				"Service-Server-Time":    {"1790000000000"},
			}
			maps.Copy(header, test.header)
			if diff := cmp.Diff(header, w.Header()); diff != "" {
				t.Errorf("headers (-want +got):\n%s", diff)
			}
			if want := http.StatusText(test.status) + "\n"; w.Code != test.status || w.Body.String() != want {
				t.Errorf("%d %q, want %d %q", w.Code, w.Body, test.status, want)
			}
		})
	}
}

// refuseFor sends an honest request to a Handler whose store answers with an error.
func refuseFor(t *testing.T, err error) *httptest.ResponseRecorder {
	t.Helper()
	s := newServer(t)
	var denied error
	s.Denied = func(_ *http.Request, err error) { denied = err }
	s.Replays = replaysFunc(func(context.Context, signing.Use) error { return fmt.Errorf("store: %w", err) })
	w := httptest.NewRecorder()
	s.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("served") })).ServeHTTP(w, base())
	if !errors.Is(denied, err) {
		t.Errorf("Denied got %v", denied)
	}
	return w
}

func TestHandlerDoesNotWaitForStores(t *testing.T) {
	hang := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	tests := map[string]func(*server){
		"N11 a store that hangs": func(s *server) {
			s.Replays = replaysFunc(func(ctx context.Context, _ signing.Use) error { return hang(ctx) })
		},
		"N11 a look-up that hangs": func(s *server) {
			s.Keys = keysFunc(func(ctx context.Context, _ string) (*signing.Key, error) { return nil, hang(ctx) })
		},
	}
	for name, broken := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t)
				broken(s)
				served := false
				next := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served = true })
				started := time.Now()
				w := httptest.NewRecorder()
				s.Handler(next).ServeHTTP(w, base())
				if took := time.Since(started); took != 500*time.Millisecond {
					t.Errorf("took %v", took)
				}
				if served || w.Code != 503 || w.Header().Get("Retry-After") == "" {
					t.Errorf("served %t, status %d", served, w.Code)
				}
			})
		})
	}
}

func TestHandlerGivesTheRequestItsOwnContext(t *testing.T) {
	s := newServer(t)
	next := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if _, bounded := r.Context().Deadline(); bounded {
			t.Error("the handler has the deadline of the stores")
		}
	})
	s.Handler(next).ServeHTTP(httptest.NewRecorder(), base())
	if len(s.replays.claimed()) != 1 {
		t.Error("not served")
	}
}

func TestServerTime(t *testing.T) {
	s := newServer(t)
	s.Now = nil
	s.Header = "X-Acme-"
	before := time.Now().UnixMilli()
	w := httptest.NewRecorder()
	s.Handler(http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	got, err := strconv.ParseInt(w.Header().Get("X-Acme-Server-Time"), 10, 64)
	if err != nil || got < before || got > time.Now().UnixMilli() {
		t.Errorf("server time %q", w.Header().Get("X-Acme-Server-Time"))
	}
}

func TestCredentialsLostOnTheWay(t *testing.T) {
	s := newSite(t)
	to, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }})
	defer front.Close()
	tests := map[string]func(*http.Request){
		"S20 named in Connection, through a proxy": func(r *http.Request) {
			r.Header.Set("Connection", strings.Join([]string{names.ClientKey, names.Signature, names.Timestamp, names.Nonce}, ", "))
		},
		"S20 in the trailers": func(r *http.Request) {
			r.Method = http.MethodPost
			r.Body = io.NopCloser(strings.NewReader("{}"))
			r.ContentLength = -1
			r.Trailer, r.Header = r.Header, http.Header{}
		},
	}
	for name, spoil := range tests {
		t.Run(name, func(t *testing.T) {
			r := base()
			r.URL, err = url.Parse(front.URL + "/acme/v2/connections")
			if err != nil {
				t.Fatal(err)
			}
			spoil(r)
			res, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode != 401 {
				t.Fatalf("status %d", res.StatusCode)
			}
			s.isRefused(t, signing.ErrNoSignature)
			if s.served.Load() != 0 {
				t.Error("served")
			}
		})
	}
}

package walk_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/walk"
)

func TestRedirectsStay(t *testing.T) {
	var leaked []string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		leaked = append(leaked, r.Header.Get("Authorization"))
	}))
	defer other.Close()
	here := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, other.URL+"/here", http.StatusTemporaryRedirect)
		case "/moved":
			http.Redirect(w, r, "/here?"+r.URL.RawQuery, http.StatusTemporaryRedirect)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusTemporaryRedirect)
		default:
			_, _ = io.WriteString(w, `{"object":"list","data":[{"_id":"1"}]}`)
		}
	}))
	defer here.Close()

	client := &http.Client{Transport: authorize{here.Client().Transport}}
	for path, want := range map[string]bool{"/away": false, "/moved": true, "/loop": false, "/here": true} {
		list := walk.List[envelope.Item]{Client: client, URL: here.URL + path}
		if _, err := collect(list.All(t.Context())); (err == nil) != want {
			t.Errorf("P19 %s: %v", path, err)
		}
	}
	if leaked != nil {
		t.Errorf("P19 a credential left: %q", leaked)
	}

	refusing := *client
	refusing.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	list := walk.List[envelope.Item]{Client: &refusing, URL: here.URL + "/moved"}
	if _, err := collect(list.All(t.Context())); err == nil || err.Error() != "walk: unexpected status 307" {
		t.Errorf("the client's own rule was passed over: %v", err)
	}
}

// TestRedirectsKeepTheScheme has a redirect from https to http, on which anybody
// could read a credential.
func TestRedirectsKeepTheScheme(t *testing.T) {
	var asked []string
	downgrade := always(func(r *http.Request) (*http.Response, error) {
		asked = append(asked, r.URL.Scheme)
		moved := raw(http.StatusTemporaryRedirect, "")
		moved.Header.Set("Location", "http://"+r.URL.Host+"/here")
		return moved, nil
	})
	list := walk.List[envelope.Item]{URL: "https://platform.test/list", Client: downgrade.client()}
	if _, err := collect(list.All(t.Context())); err == nil || len(asked) != 1 || asked[0] != "https" {
		t.Errorf("P19 asked by %v: %v", asked, err)
	}
}

// authorize is a transport that presents its credential to any host.
type authorize struct{ http.RoundTripper }

func (a authorize) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer secret")
	return a.RoundTripper.RoundTrip(r)
}

func TestRetry(t *testing.T) {
	busy := func(status int, retryAfter string) always {
		return func(*http.Request) (*http.Response, error) {
			r := raw(status, `{"object":"fault","errCode":"service.tooBusy.storeFull","status":503}`)
			r.Header.Set("Retry-After", retryAfter)
			return r, nil
		}
	}
	date := func(ahead time.Duration) always {
		return func(r *http.Request) (*http.Response, error) {
			return busy(503, time.Now().Add(ahead).UTC().Format(http.TimeFormat))(r)
		}
	}
	good := func(*http.Request) (*http.Response, error) {
		return raw(200, `{"object":"list","data":[{"_id":"1"}]}`), nil
	}
	type replies = []always

	tests := map[string]struct {
		replies  replies
		requests int
		least    time.Duration
		most     time.Duration
		ok       bool
	}{
		"429 that says when":         {replies{busy(429, "7"), good}, 2, 7 * time.Second, 7250 * time.Millisecond, true},
		"503 that gives a date":      {replies{date(10 * time.Second), good}, 2, 9 * time.Second, 11 * time.Second, true},
		"a date that has passed":     {replies{date(-time.Hour), good}, 2, 0, time.Second, true},
		"502 and 504 say nothing":    {replies{busy(502, ""), busy(504, ""), good}, 3, 0, time.Second, true},
		"what is no time":            {replies{busy(503, "-5"), good}, 2, 0, time.Second, true},
		"busy for ever":              {replies{busy(503, "1")}, 5, 4 * time.Second, 9 * time.Second, false},
		"a longer wait than we have": {replies{busy(503, "3600"), good}, 1, 0, 0, false},
		"an hour from now":           {replies{date(time.Hour), good}, 1, 0, 0, false},
		"403 is final":               {replies{busy(403, "1"), good}, 1, 0, 0, false},
		"500 is final":               {replies{busy(500, "1"), good}, 1, 0, 0, false},
	}
	for name, tc := range tests {
		t.Run("P19 "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{replies: tc.replies}
				start := time.Now()
				_, err := collect(walk.List[envelope.Item]{Client: s.client(), URL: listURL}.All(t.Context()))
				took := time.Since(start)
				if (err == nil) != tc.ok || len(s.requests) != tc.requests {
					t.Errorf("%d requests, %v", len(s.requests), err)
				}
				if took < tc.least || took > tc.most {
					t.Errorf("took %v", took)
				}
				var fault *envelope.Fault
				if !tc.ok && (!errors.As(err, &fault) || fault.Detail != "tooBusy.storeFull") {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

// TestEachAttemptIsSignedAnew counts the requests that a signing transport gets.
func TestEachAttemptIsSignedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{replies: []always{
			func(*http.Request) (*http.Response, error) { return raw(503, ``), nil },
			func(*http.Request) (*http.Response, error) { return raw(200, `{"object":"list","data":[]}`), nil },
		}}
		signer := &nonces{next: s}
		list := walk.List[envelope.Item]{Client: &http.Client{Transport: signer}, URL: listURL}
		if _, err := collect(list.All(t.Context())); err != nil {
			t.Fatal(err)
		}
		a, b := s.requests[0].Header.Get("Nonce"), s.requests[1].Header.Get("Nonce")
		if a == b {
			t.Errorf("P19 both attempts carry %s", a)
		}
	})
}

type nonces struct {
	next http.RoundTripper
	n    int
}

func (s *nonces) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	s.n++
	r.Header.Set("Nonce", fmt.Sprint(s.n))
	return s.next.RoundTrip(r)
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // synctest fails if a goroutine is left
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s := numbered(10)
		list := walk.List[record]{Client: s.client(), URL: listURL, Query: paging.Query{Limit: 2}}
		var got []string
		var last error
		for item, err := range list.All(ctx) {
			if err != nil {
				last = err
				continue
			}
			if got = append(got, item.ID); len(got) == 3 {
				cancel()
			}
		}
		var stopped *walk.Error
		if !errors.Is(last, context.Canceled) || !errors.As(last, &stopped) || stopped.After != "003" {
			t.Errorf("P19 %#v", last)
		}
		if len(got) != 4 { // items that had arrived are returned
			t.Errorf("P19 %v", got)
		}
	})

	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s := &script{replies: []always{func(*http.Request) (*http.Response, error) {
			r := raw(503, ``)
			r.Header.Set("Retry-After", "30")
			return r, nil
		}}}
		start := time.Now()
		_, err := collect(walk.List[record]{Client: s.client(), URL: listURL}.All(ctx))
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("P19 waiting: %v after %v", err, time.Since(start))
		}
	})
}

package repeat_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantkit/tenantkit/internal/repeat"
)

var errLost = errors.New("the connection was lost")

// answer is what one try gets.
type answer struct {
	status int // 0: err
	after  string
	err    error
	unsent bool
	kept   bool
}

var (
	lost  = answer{err: errLost}
	fine  = answer{status: 200}
	busy  = answer{status: 409, after: "1"}
	never = []answer{lost, lost, lost, lost, lost, lost}
)

// reply tells whether it was closed.
type reply struct {
	io.Reader
	open *int
}

func (r reply) Close() error { *r.open--; return nil }

func TestDo(t *testing.T) {
	for name, c := range map[string]struct {
		method  string
		body    io.Reader
		answers []answer
		tries   int
		least   time.Duration // of all waits
		ends    time.Duration // of the context
	}{
		"an answer":                             {"POST", nil, []answer{fine}, 1, 0, 0},
		"a lost answer":                         {"POST", nil, []answer{lost, fine}, 2, 200 * time.Millisecond, 0},
		"a lost answer to a body":               {"PATCH", strings.NewReader("body"), []answer{lost, lost, fine}, 3, 600 * time.Millisecond, 0},
		"no answer at all":                      {"POST", nil, never, 4, 1400 * time.Millisecond, 0},
		"a proxy without its service":           {"POST", nil, []answer{{status: 502}, {status: 504}, fine}, 3, 600 * time.Millisecond, 0},
		"a service that cannot answer":          {"POST", nil, []answer{{status: 503, after: "2"}, fine}, 2, 2 * time.Second, 0},
		"a service that says at once":           {"POST", nil, []answer{{status: 503, after: "0"}, fine}, 2, 0, 0},
		"one that is at work on it":             {"POST", nil, []answer{lost, busy, busy, fine}, 4, 2200 * time.Millisecond, 0},
		"a conflict":                            {"POST", nil, []answer{{status: 409}}, 1, 0, 0},
		"a service that could not, and kept it": {"POST", nil, []answer{{status: 503}, {status: 503, kept: true}}, 2, 200 * time.Millisecond, 0},
		"a wait that is too long":               {"POST", nil, []answer{{status: 503, after: "11"}}, 1, 0, 0},
		"a wait that cannot be":                 {"POST", nil, []answer{{status: 503, after: "99999999999"}}, 1, 0, 0},
		"a wait beyond any number":              {"POST", nil, []answer{{status: 503, after: "99999999999999999999"}}, 1, 0, 0},
		"a refusal":                             {"POST", nil, []answer{{status: 429, after: "1"}}, 1, 0, 0},
		"an error of the server":                {"POST", nil, []answer{{status: 500}}, 1, 0, 0},
		"a request that was not sent":           {"POST", nil, []answer{{err: errLost, unsent: true}}, 1, 0, 0},
		"a body that cannot be read again":      {"POST", io.MultiReader(strings.NewReader("body")), []answer{lost}, 1, 0, 0},
		"another method":                        {"PUT", nil, []answer{lost}, 1, 0, 0},
		"a context that ends during the waits":  {"POST", nil, never, 2, 200 * time.Millisecond, 300 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if c.ends > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.ends)
					defer cancel()
				}
				r, err := http.NewRequestWithContext(ctx, c.method, "https://api.example.com", c.body)
				if err != nil {
					t.Fatal(err)
				}
				var keys []string
				open, began := 0, time.Now()
				res, err := repeat.Do(true, r, func(r *http.Request) (*http.Response, bool, error) {
					a := c.answers[len(keys)]
					keys = append(keys, r.Header.Get(repeat.Key))
					if c.body != nil {
						if text, err := io.ReadAll(r.Body); err != nil || string(text) != "body" {
							t.Errorf("try %d has the body %q, %v", len(keys), text, err)
						}
					}
					if a.err != nil {
						return nil, !a.unsent, a.err
					}
					open++
					res := &http.Response{StatusCode: a.status, Header: http.Header{}, Body: reply{strings.NewReader("reply"), &open}, ContentLength: 5}
					if a.kept {
						res.Header.Set("Idempotent-Replayed", "true")
					}
					if a.after != "" {
						res.Header.Set("Retry-After", a.after)
					}
					return res, false, nil
				})
				last := c.answers[c.tries-1]
				switch {
				case len(keys) != c.tries:
					t.Fatalf("%d tries, want %d", len(keys), c.tries)
				case !errors.Is(err, last.err) || err == nil && (res.StatusCode != last.status || open != 1):
					t.Errorf("got %v, %v, with %d replies open; want the last answer %+v", res, err, open, last)
				}
				keyed := c.method != "PUT" && (c.body == nil || r.GetBody != nil)
				for _, key := range keys {
					if key != keys[0] || (len(key) == 26) != keyed {
						t.Errorf("keys %q", keys)
					}
				}
				if took := time.Since(began); took < c.least || took > c.least*3/2+time.Millisecond {
					t.Errorf("took %v, want %v and at most half of it more", took, c.least)
				}
				if r.Header.Get(repeat.Key) != "" {
					t.Error("the caller's request was changed")
				}
			})
		})
	}
}

func TestTheCallersKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &http.Request{Method: "POST", Header: http.Header{repeat.Key: {"mine"}}}
		tries := 0
		_, err := repeat.Do(true, r, func(r *http.Request) (*http.Response, bool, error) {
			if tries++; r.Header.Get(repeat.Key) != "mine" {
				t.Errorf("the key %q", r.Header.Get(repeat.Key))
			}
			return nil, true, errLost
		})
		if !errors.Is(err, errLost) || tries != 4 {
			t.Errorf("%d tries, %v", tries, err)
		}
	})
}

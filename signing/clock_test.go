package signing_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantkit/tenantkit/signing"
)

// network carries requests to a verifying handler without sockets, so that it works
// inside a synctest bubble. It records what happened.
type network struct {
	handler http.Handler
	latency func() time.Duration // one way, nil: none

	mu       sync.Mutex
	statuses map[int]int
	lead     time.Duration // the most that a timestamp was ahead of the server when sent
}

func newNetwork(t testing.TB, policy signing.Policy) *network {
	s := newServer(t)
	s.Policy, s.Now = policy, nil
	ok := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "ok") })
	return &network{handler: http.StripPrefix("/acme/v2", s.Handler(ok)), statuses: map[int]int{}}
}

func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	ms, err := strconv.ParseInt(r.Header.Get(names.Timestamp), 10, 64)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	n.lead = max(n.lead, time.Until(time.UnixMilli(ms)))
	n.mu.Unlock()
	n.travel()
	w := httptest.NewRecorder()
	n.handler.ServeHTTP(w, r.Clone(r.Context()))
	n.travel()
	n.mu.Lock()
	n.statuses[w.Code]++
	n.mu.Unlock()
	if r.Body != nil {
		r.Body.Close()
	}
	return w.Result(), nil
}

func (n *network) travel() {
	if n.latency != nil {
		time.Sleep(n.latency())
	}
}

// transport returns a Transport over n whose local clock is wrong by skew. If skew is
// nil, Now is not set, as in most programs.
func (n *network) transport(skew *atomic.Int64) *signing.Transport {
	t := &signing.Transport{
		BaseURL:   "https://api.example.com/acme/v2",
		ClientKey: clientKey,
		Secret:    secret,
		Base:      n,
	}
	if skew != nil {
		t.Now = func() time.Time { return time.Now().Add(time.Duration(skew.Load())) }
	}
	return t
}

// get requests the connections and returns the status.
func send(ctx context.Context, t *signing.Transport, method string) (int, error) {
	r, err := http.NewRequestWithContext(ctx, method, "https://api.example.com/acme/v2/connections", nil)
	if err != nil {
		return 0, err
	}
	res, err := t.RoundTrip(r)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	return res.StatusCode, nil
}

func wan() time.Duration { return time.Duration(1+rand.IntN(40)) * time.Millisecond }

// N14: while the client's clock is set forward and back again, no request is refused
// and none is signed twice.
func TestHighRateOnOnePath(t *testing.T) {
	tests := []struct {
		name    string
		seconds int
		step    time.Duration
	}{
		{"N14 5,000 requests a second for 30 seconds", 30, 0},
		{"N14 the clock is put forward by 20 seconds and back again", 10, 20 * time.Second},
		{"N14 the clock is put back by 20 seconds and forward again", 10, -20 * time.Second},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			seconds, step := test.seconds, test.step
			if testing.Short() || raceEnabled {
				seconds = 3
			}
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork(t, signing.Policy{})
				n.latency = wan
				var skew, failed atomic.Int64
				client := n.transport(&skew)
				var wg sync.WaitGroup
				for ms := range seconds * 1000 {
					switch ms {
					case seconds * 300:
						skew.Store(int64(step))
					case seconds * 600:
						skew.Store(0)
					}
					for range 5 {
						wg.Go(func() {
							if status, err := send(t.Context(), client, http.MethodGet); err != nil || status != 200 {
								failed.Add(1)
							}
						})
					}
					time.Sleep(time.Millisecond)
				}
				wg.Wait()
				if failed.Load() != 0 || len(n.statuses) != 1 || n.statuses[200] != seconds*5000 {
					t.Errorf("%d failed, by status: %v", failed.Load(), n.statuses)
				}
				if step == 0 && n.lead > 1100*time.Millisecond {
					t.Errorf("signed %v ahead", n.lead)
				}
			})
		})
	}
}

// A clock step beyond the window is noticed by a refusal. Callers must not see the
// refusal.
func TestLargeStepsAtHighRate(t *testing.T) {
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		for _, step := range []time.Duration{-time.Hour, -2 * time.Minute, 2 * time.Minute, time.Hour} {
			t.Run(fmt.Sprint(method, " ", step), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					n := newNetwork(t, signing.Policy{})
					n.latency = wan
					var skew, failed atomic.Int64
					client := n.transport(&skew)
					var wg sync.WaitGroup
					for ms := range 3000 {
						switch ms {
						case 1000:
							skew.Store(int64(step))
						case 2000:
							skew.Store(0)
						}
						for range map[string]int{http.MethodGet: 5, http.MethodPost: 1}[method] {
							wg.Go(func() {
								if status, err := send(t.Context(), client, method); err != nil || status != 200 {
									failed.Add(1)
								}
							})
						}
						time.Sleep(time.Millisecond)
					}
					wg.Wait()
					if failed.Load() != 0 {
						t.Errorf("%d failed, by status: %v", failed.Load(), n.statuses)
					}
				})
			})
		}
	}
}

func TestUnsafeRequestsWaitTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t, signing.Policy{})
		n.latency = wan
		var skew atomic.Int64
		client := n.transport(&skew)
		started := time.Now()
		var wg sync.WaitGroup
		for range 3000 {
			wg.Go(func() {
				if status, err := send(t.Context(), client, http.MethodPost); err != nil || status != 200 {
					t.Errorf("status %d, %v", status, err)
				}
			})
		}
		wg.Wait()
		if took := time.Since(started); took < 1900*time.Millisecond || took > 2200*time.Millisecond {
			t.Errorf("3000 requests took %v, want 2 s: 1000 at once, then 1000 a second", took)
		}
		if len(n.statuses) != 1 {
			t.Errorf("by status: %v", n.statuses)
		}
		if n.lead > 1100*time.Millisecond {
			t.Errorf("signed %v ahead", n.lead)
		}
	})
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t, signing.Policy{})
		var skew atomic.Int64
		client := n.transport(&skew)
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		var sent, given atomic.Int64
		var wg sync.WaitGroup
		for range 2000 {
			wg.Go(func() {
				body := &closing{Reader: strings.NewReader("{}")}
				r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://api.example.com/acme/v2/connections", body)
				if err != nil {
					t.Error(err)
					return
				}
				switch _, err := client.RoundTrip(r); {
				case err == nil:
					sent.Add(1)
				case errors.Is(err, context.DeadlineExceeded):
					given.Add(1)
				default:
					t.Error(err)
				}
				if body.closed.Load() != 1 {
					t.Errorf("body closed %d times", body.closed.Load())
				}
			})
		}
		wg.Wait()
		if sent.Load() < 1000 || sent.Load() > 1600 || sent.Load()+given.Load() != 2000 {
			t.Errorf("%d sent, %d given up", sent.Load(), given.Load())
		}
	})
}

// closing counts how often a body is closed.
type closing struct {
	io.Reader
	closed atomic.Int64
}

func (c *closing) Close() error {
	c.closed.Add(1)
	return nil
}

// Two Transports that act as different accounts would make equal signatures. Requests
// with an account must not share a timestamp.
func TestTransportsOfOneKeyShareTimestamps(t *testing.T) {
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork(t, signing.Policy{})
				var skew atomic.Int64
				var clock signing.Clock
				var wg sync.WaitGroup
				for _, account := range []string{"a", "b", ""} {
					client := n.transport(&skew)
					client.Clock, client.Account = &clock, account
					for range 500 {
						wg.Go(func() {
							if status, err := send(t.Context(), client, method); err != nil || status != 200 {
								t.Errorf("status %d, %v", status, err)
							}
						})
					}
				}
				wg.Wait()
				if n.statuses[200] != 1500 || len(n.statuses) != 1 {
					t.Errorf("by status: %v", n.statuses)
				}
			})
		})
	}
}

func TestClockHeals(t *testing.T) {
	tests := []struct {
		name string
		skew time.Duration
	}{
		{"an hour slow", -time.Hour},
		{"an hour fast", time.Hour},
		{"two minutes fast", 2 * time.Minute},
		{"ten years slow", -10 * 365 * 24 * time.Hour},
		{"ten years fast", 10 * 365 * 24 * time.Hour},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork(t, signing.Policy{})
				n.latency = wan
				var skew atomic.Int64
				client := n.transport(&skew)
				refused, started := 0, time.Now()
				steps := []time.Duration{test.skew, 0, test.skew, 0}
				for i, step := range steps {
					skew.Store(int64(step))
					for range 10 {
						if status, err := send(t.Context(), client, http.MethodPost); err != nil || status != 200 {
							t.Fatalf("at step %d: status %d, %v", i, status, err)
						}
					}
					if n.statuses[401] > refused+1 {
						t.Errorf("at step %d: %d refused, want one at most", i, n.statuses[401]-refused)
					}
					refused = n.statuses[401]
				}
				if took := time.Since(started); took > 5*time.Second {
					t.Errorf("took %v: requests waited for a time that was wrong", took)
				}
			})
		})
	}
}

// With a small FutureTolerance, a server refuses timestamps that slewing allows. The
// refusal must make the clock step.
func TestClockStepsWhenRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t, signing.Policy{FutureTolerance: 5 * time.Second})
		var skew atomic.Int64
		client := n.transport(&skew)
		for i, step := range []time.Duration{0, 20 * time.Second, 0} {
			skew.Store(int64(step))
			for range 5 {
				if status, err := send(t.Context(), client, http.MethodPost); err != nil || status != 200 {
					t.Fatalf("at step %d: status %d, %v", i, status, err)
				}
			}
		}
		if n.statuses[401] != 1 {
			t.Errorf("by status: %v, want one refusal", n.statuses)
		}
	})
}

// Slow replies say little about the server's clock. They must not undo what quick
// replies have shown.
func TestSlowRepliesDoNoHarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t, signing.Policy{Tolerance: 2 * time.Second, FutureTolerance: 2 * time.Second})
		upload := time.Duration(0)
		n.latency = func() time.Duration { return 5 * time.Millisecond }
		slow := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n.handler.ServeHTTP(w, r)
			time.Sleep(upload)
		})
		whole := &network{handler: slow, statuses: map[int]int{}}
		var skew atomic.Int64
		skew.Store(int64(time.Hour))
		client := whole.transport(&skew)
		for _, upload = range []time.Duration{0, time.Minute, 0, 10 * time.Minute, 0} {
			if status, err := send(t.Context(), client, http.MethodPost); err != nil || status != 200 {
				t.Fatalf("status %d, %v", status, err)
			}
		}
		if whole.statuses[401] != 1 {
			t.Errorf("by status: %v, want the first refused only", whole.statuses)
		}
	})
}

// A program may make a second Transport for a client key and not share the Clock.
func TestTransportsOfOneKeyShareAClock(t *testing.T) {
	tests := []struct{ name, method, other string }{
		{"N14 GET", http.MethodGet, "https://api.example.com/acme/v2"},
		{"N14 POST", http.MethodPost, "https://api.example.com/acme/v2"},
		{"N14 one base URL has a slash at its end", http.MethodPost, "https://api.example.com/acme/v2/"},
		{"N14 one base URL is spelled otherwise", http.MethodPost, "https://API.example.com:443/acme/v2"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			n := newNetwork(t, signing.Policy{})
			var wg sync.WaitGroup
			for i := range 4 {
				client := n.transport(nil)
				if i%2 == 1 {
					client.BaseURL = test.other
				}
				for range 200 {
					wg.Go(func() {
						if status, err := send(t.Context(), client, test.method); err != nil || status != 200 {
							t.Errorf("status %d, %v", status, err)
						}
					})
				}
			}
			wg.Wait()
			if n.statuses[200] != 800 || len(n.statuses) != 1 {
				t.Errorf("by status: %v", n.statuses)
			}
		})
	}
}

func TestASharedClockIsCorrectedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // its clock starts in another year
		n := newNetwork(t, signing.Policy{})
		first := n.transport(nil)
		for range 3 {
			if status, err := send(t.Context(), first, http.MethodPost); err != nil || status != 200 {
				t.Fatalf("status %d, %v", status, err)
			}
		}
		refused := n.statuses[401]
		if status, err := send(t.Context(), n.transport(nil), http.MethodPost); err != nil || status != 200 {
			t.Fatalf("a second Transport: status %d, %v", status, err)
		}
		if n.statuses[401] != refused {
			t.Errorf("the second Transport did not know what the first had learned: %v", n.statuses)
		}
	})
}

// Transports with another host have separate timestamps. A Transport
// with another Now has another local clock. So their clocks are separate.
func TestTransportsThatShareNoClock(t *testing.T) {
	early := time.Now().Add(-time.Hour)
	past := func() time.Time { return early }
	tests := []struct {
		name string
		set  func(*signing.Transport)
	}{
		{"another host", func(t *signing.Transport) { t.BaseURL = "https://other.example.com/acme/v2" }},
		{"another port", func(t *signing.Transport) { t.BaseURL = "https://api.example.com:8443/acme/v2" }},
		{"a Clock of its own", func(t *signing.Transport) { t.Clock = new(signing.Clock) }},
		{"a Now of its own", func(t *signing.Transport) { t.Now = past }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			first, second := &signing.Transport{}, &signing.Transport{}
			for _, client := range []*signing.Transport{first, second} {
				client.BaseURL, client.ClientKey, client.Secret = "https://api.example.com/acme/v2", "tkApart", secret
			}
			test.set(second)
			if signing.SharesClock(first, second) {
				t.Error("they share a clock")
			}
			if !signing.SharesClock(second, second) {
				t.Error("a Transport has two clocks")
			}
		})
	}
}

// A Clock forgets hosts, so that it does not grow with them.
func TestAClockKeepsABoundedNumberOfHosts(t *testing.T) {
	var clock signing.Clock
	for i := range 3000 {
		signing.SharesClock(&signing.Transport{Clock: &clock, BaseURL: fmt.Sprintf("https://h%d.example.com", i)}, &signing.Transport{Clock: &clock, BaseURL: "https://api.example.com"})
	}
	if got := signing.Hosts(&clock); got != 1024 {
		t.Errorf("%d hosts", got)
	}
}

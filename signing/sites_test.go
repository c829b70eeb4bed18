package signing_test

import (
	"fmt"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantkit/tenantkit/signing"
)

// Nobody who makes a second Transport for a client key thinks of the first one.
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
	synctest.Test(t, func(t *testing.T) { // where it is another year than outside
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
		runtime.KeepAlive(first)
	})
}

// What differs between the Transports keeps their clocks apart: another host or
// client key has other timestamps, another Now is another local clock.
func TestTransportsThatShareNoClock(t *testing.T) {
	early := time.Now().Add(-time.Hour)
	past := func() time.Time { return early }
	tests := []struct {
		name string
		set  func(*signing.Transport)
	}{
		{"another host", func(t *signing.Transport) { t.BaseURL = "https://other.example.com/acme/v2" }},
		{"another port", func(t *signing.Transport) { t.BaseURL = "https://api.example.com:8443/acme/v2" }},
		{"another client key", func(t *signing.Transport) { t.ClientKey = "tkAnother" }},
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

func TestASharedClockEndsWithItsTransports(t *testing.T) {
	const key, origin = "tkCollected", "https://api.example.com"
	n := newNetwork(t, signing.Policy{})
	use := func() *signing.Transport {
		client := n.transport(nil)
		client.ClientKey = key
		if _, err := send(t.Context(), client, http.MethodGet); err != nil {
			t.Fatal(err)
		}
		return client
	}
	kept := use()
	use()
	for range 5 {
		runtime.GC()
	}
	if !signing.KeepsSite(key, origin) {
		t.Fatal("a clock that a Transport holds was collected")
	}
	runtime.KeepAlive(kept)
	for deadline := time.Now().Add(10 * time.Second); signing.KeepsSite(key, origin); {
		if time.Now().After(deadline) {
			t.Fatal("the clock of no Transport is kept")
		}
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
}

// Clocks are made, found and collected at once.
func TestSharedClocksUnderChurn(t *testing.T) {
	n := newNetwork(t, signing.Policy{})
	var failed atomic.Int64
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := range 100 {
				client := n.transport(nil)
				client.BaseURL = fmt.Sprintf("https://h%d.example.com/acme/v2", i%3)
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, fmt.Sprint(client.BaseURL, "/w", worker, "/", i), nil)
				if err != nil {
					failed.Add(1)
					continue
				}
				res, err := client.RoundTrip(r)
				if err != nil {
					failed.Add(1)
					continue
				}
				res.Body.Close()
				if i%10 == 0 {
					runtime.GC()
				}
			}
		})
	}
	wg.Wait()
	if failed.Load() != 0 || n.statuses[200] != 400 {
		t.Errorf("%d failed, by status: %v", failed.Load(), n.statuses)
	}
}

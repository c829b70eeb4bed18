package signing_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/tenantkit/tenantkit/signing"
)

// forgetful executes each key once, and loses answers to what it has executed.
type forgetful struct {
	sync.Mutex
	lose, signed, replays int
	effects               map[string]bool
}

func (f *forgetful) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.Lock()
	defer f.Unlock()
	body, _ := io.ReadAll(r.Body)
	if r.Method == http.MethodPost {
		f.signed++
		f.effects[r.Header.Get("Idempotency-Key")+string(body)] = true
	}
	if r.Method == http.MethodPost && f.lose > 0 {
		f.lose--
		panic(http.ErrAbortHandler)
	}
}

// TestTransportRepeatsWithOneKey loses answers on new connections and on used ones. On a used one,
// http.Transport itself repeats a request that has a key, and that is refused as a replay.
func TestTransportRepeatsWithOneKey(t *testing.T) {
	for name, c := range map[string]struct {
		version, lose int
		used          bool
		body          io.Reader
		replays       int
	}{
		"version 1, a new connection":              {1, 1, false, strings.NewReader("body"), 0},
		"version 1, a used connection":             {1, 1, true, strings.NewReader("body"), 1},
		"version 1, a used one, without a body":    {1, 1, true, nil, 1},
		"version 1, two answers":                   {1, 2, true, strings.NewReader("body"), 2},
		"version 2, a new connection":              {2, 1, false, strings.NewReader("body"), 0},
		"version 2, a used connection":             {2, 1, true, strings.NewReader("body"), 1},
		"version 2, a body that is read only once": {2, 1, true, io.MultiReader(strings.NewReader("body")), 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &forgetful{effects: map[string]bool{}}
			s := newServer(t)
			s.Now = nil
			var handler http.Handler
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				handler.ServeHTTP(w, r)
				if strings.Contains(w.Header().Get("WWW-Authenticate"), "replayed") {
					f.Lock()
					defer f.Unlock()
					f.replays++
				}
			}))
			s.BaseURL = "http://" + server.Listener.Addr().String() + "/acme/v2"
			handler = http.StripPrefix("/acme/v2", s.Handler(f))
			server.Start()
			defer server.Close()
			client := &http.Client{Transport: &signing.Transport{BaseURL: server.URL + "/acme/v2", ClientKey: clientKey, Secret: secret,
				Version: c.version, Repeat: true, Base: server.Client().Transport}}
			if c.used {
				do(t, client, newRequest(t, "GET", server.URL+"/acme/v2/notes", nil))
			}
			f.Lock()
			f.lose = c.lose
			f.Unlock()
			if res := do(t, client, newRequest(t, "POST", server.URL+"/acme/v2/notes", c.body)); res.StatusCode != 200 {
				t.Errorf("status %d", res.StatusCode)
			}
			f.Lock()
			defer f.Unlock()
			if len(f.effects) != 1 || f.signed != c.lose+1 || f.replays != c.replays {
				t.Errorf("%d effects, signed %d times, %d refused as replays", len(f.effects), f.signed, f.replays)
			}
		})
	}
}

func TestTransportRepeatsOnlyWhenAsked(t *testing.T) {
	f := &forgetful{lose: 1, effects: map[string]bool{}}
	server := httptest.NewServer(f)
	defer server.Close()
	client := &http.Client{Transport: &signing.Transport{BaseURL: server.URL, ClientKey: clientKey, Secret: secret, Base: server.Client().Transport}}
	if res, err := client.Do(newRequest(t, "POST", server.URL+"/notes", strings.NewReader("body"))); err == nil {
		t.Errorf("status %d for a lost answer", res.StatusCode)
	}
	f.Lock()
	defer f.Unlock()
	if f.signed != 1 || !f.effects["body"] {
		t.Errorf("sent %d times, %v", f.signed, f.effects)
	}
}

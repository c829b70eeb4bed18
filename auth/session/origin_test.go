package session_test

import (
	"net/http"
	"testing"

	"github.com/tenantkit/tenantkit/auth"
)

func TestF05CrossOrigin(t *testing.T) {
	foreign := map[string][]string{
		"by Sec-Fetch-Site":              {"Sec-Fetch-Site", "cross-site"},
		"by Sec-Fetch-Site, a neighbour": {"Sec-Fetch-Site", "same-site"},
		"by Origin":                      {"Origin", "https://evil.example"},
		"by Origin, opaque":              {"Origin", "null"},
		"by Origin, another port":        {"Origin", "https://api.example.test:8443"},
	}
	const refused = auth.DetailCrossOrigin
	for name, header := range foreign {
		t.Run("F05 a page of another origin, "+name, func(t *testing.T) {
			w := newWorld(t)
			b := w.ann()
			w.clock.Advance(5 * time30)
			touches, handled := w.stores.count("Touch"), w.handled.Load()
			for _, path := range []string{"/me", "/maybe", "/reauthenticate", "/logout", "/enrol", "/confirm", "/remove"} {
				want(t, b.do("POST", path, "", header...), 403, refused)
			}
			hashes, creates := w.hasher.verified.Load(), w.stores.count("Create")
			for _, path := range []string{"/login", "/start", "/verify"} {
				got := w.browser().do("POST", path, form("login", "ann", "password", annPassword, "account", "ann"), header...)
				want(t, got, 403, refused)
				if len(got.cookies) > 0 {
					t.Errorf("cookies %q", sets(got))
				}
			}
			if w.hasher.verified.Load() != hashes || w.stores.count("Create") != creates {
				t.Error("a cross-site login was looked at")
			}
			if w.stores.count("Touch") != touches || w.handled.Load() != handled {
				t.Error("a refused request touched the session or ran its handler")
			}
			want(t, b.do("GET", "/me", "", header...), 200, "") // GET is safe, and the browser hides the reply from the page
		})
	}
	for name, header := range map[string][]string{
		"F05 neither header: no browser":    nil,
		"F05 a page of the same origin":     {"Sec-Fetch-Site", "same-origin", "Origin", "https://api.example.test"},
		"F05 the address bar":               {"Sec-Fetch-Site", "none"},
		"F05 an old browser, by its Origin": {"Origin", "https://api.example.test"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			b := w.ann()
			want(t, b.do("POST", "/me", "", header...), 200, "")
			want(t, w.browser().do("POST", "/login", form("login", "ann", "password", annPassword), header...), 200, "")
		})
	}
	t.Run("F05 a trusted origin", func(t *testing.T) {
		protection := http.NewCrossOriginProtection()
		if err := protection.AddTrustedOrigin("https://app.example.test"); err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, func(w *world) { w.manager.CrossOrigin = protection })
		b := w.ann()
		want(t, b.do("POST", "/me", "", "Origin", "https://app.example.test", "Sec-Fetch-Site", "same-site"), 200, "")
		want(t, b.do("POST", "/me", "", "Origin", "https://other.example.test", "Sec-Fetch-Site", "same-site"), 403, refused)
	})
}

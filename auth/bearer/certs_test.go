package bearer_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/token"
)

func TestCertsOfExposedAppsOnly(t *testing.T) {
	w := newWorld(t)
	exposed, _ := kidOf(0)
	hidden, _ := kidOf(1)
	for path, contentType := range map[string]string{
		"/acme/v2/auth/certs/jwk": "application/jwk-set+json", "/acme/v2/auth/certs/pem": "application/x-pem-file",
	} {
		t.Run("K01 "+path, func(t *testing.T) {
			got := w.ask(t, "GET", path)
			if got.status != 200 || got.header.Get("Content-Type") != contentType || got.header.Get("Cache-Control") != "public, max-age=300" {
				t.Errorf("got %d %v", got.status, got.header)
			}
			if !strings.Contains(got.body, exposed) || strings.Contains(got.body, hidden) || strings.Contains(got.body, appG) {
				t.Errorf("body %s", got.body)
			}
			for _, private := range []string{`"d"`, `"p"`, `"q"`, `"dp"`, `"dq"`, `"qi"`, "PRIVATE"} {
				if strings.Contains(got.body, private) {
					t.Errorf("K01 the body holds %s", private)
				}
			}
			etag := got.header.Get("ETag")
			if !strings.HasPrefix(etag, `"`) {
				t.Errorf("ETag %s is not strong", etag)
			}
			for tag, status := range map[string]int{etag: 304, "W/" + etag: 304, `"x", ` + etag: 304, "*": 304, `"x"`: 200} {
				if again := w.ask(t, "GET", path, "If-None-Match", tag); again.status != status || (status == 304) != (again.body == "") {
					t.Errorf("If-None-Match %s: got %d, want %d", tag, again.status, status)
				}
			}
			if whole := w.ask(t, "GET", path, "Range", "bytes=0-3", "If-Match", `"x"`); whole.status != 200 || whole.body != got.body || whole.header.Get("Content-Range") != "" {
				t.Errorf("a range: got %d %v", whole.status, whole.header)
			}
			for _, ranges := range []string{"bytes=0-3", "bytes=-1", "bytes=999999-", "bytes=0-1,4-5", "x"} {
				for _, method := range []string{"GET", "HEAD"} {
					whole := w.ask(t, method, path, "Range", ranges, "If-Range", etag)
					if whole.status != 200 || method == "GET" && whole.body != got.body || whole.header["Accept-Ranges"] != nil {
						t.Errorf("%s with Range %s: got %d %v", method, ranges, whole.status, whole.header)
					}
				}
			}
			if head := w.ask(t, "HEAD", path); head.status != 200 || head.body != "" || head.header.Get("ETag") != etag {
				t.Errorf("HEAD: got %d %q", head.status, head.body)
			}
			if post := w.ask(t, "POST", path); post.status != 405 || post.header.Get("Allow") != "GET, HEAD" {
				t.Errorf("POST: got %d", post.status)
			}
		})
	}
}

func TestTheJWKDocumentIsListAndSet(t *testing.T) {
	w := newWorld(t)
	var document struct {
		Object  string
		Data    []map[string]string
		HasMore *bool
		Keys    []map[string]string
	}
	if err := json.Unmarshal([]byte(w.ask(t, "GET", "/acme/v2/auth/certs/jwk").body), &document); err != nil {
		t.Fatal(err)
	}
	if document.Object != "list" || document.HasMore == nil || *document.HasMore || len(document.Data) != 1 || len(document.Keys) != 1 {
		t.Fatalf("document %+v", document)
	}
	if item := document.Data[0]; item["_id"] != item["kid"] || item["object"] != "jwk" || item["n"] == "" || document.Keys[0]["_id"] != "" {
		t.Errorf("item %v, key %v", item, document.Keys[0])
	}
	w.directory.PutOrg(auth.Org{Code: "empty"})
	if body := w.ask(t, "GET", "/empty/v2/auth/certs/jwk").body; !strings.Contains(body, `"data":[]`) || !strings.Contains(body, `"keys":[]`) {
		t.Errorf("an empty set: %s", body)
	}
}

func TestPEMWithoutAKeyIsNoEmptyReply(t *testing.T) {
	w := newWorld(t)
	w.directory.PutOrg(auth.Org{Code: "empty"})
	got := w.ask(t, "GET", "/empty/v2/auth/certs/pem")
	if block, _ := pem.Decode([]byte(got.body)); got.status != 200 || got.body == "" || block != nil {
		t.Errorf("got %d %q", got.status, got.body)
	}
}

// K02: each answer is either the whole old set or the whole new one.
func TestRegeneratingTearsNoAnswer(t *testing.T) {
	w := newWorld(t)
	known := map[string]bool{}
	for _, i := range []int{0, 3} {
		kid, _ := kidOf(i)
		known[kid] = true
	}
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				w.putPair(t, 3*(i%2), appA, "acme")
			}
		}
	}()
	for range 1000 {
		var document struct{ Keys []struct{ Kid string } }
		body := do(w.mux, "/acme/v2/auth/certs/jwk").Body.Bytes()
		if err := json.Unmarshal(body, &document); err != nil || len(document.Keys) != 1 || !known[document.Keys[0].Kid] {
			t.Fatalf("K02 torn answer %s", body)
		}
	}
	close(stop)
	<-done
}

func do(h http.Handler, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	return w
}

type brokenKeys struct{}

func (brokenKeys) Exposed(context.Context, auth.OrgKey) ([]token.PublicKey, error) {
	return nil, http.ErrServerClosed
}

func TestKeyStoreDown(t *testing.T) {
	w := newWorld(t)
	mux := w.guard.Mux()
	jwk, pem := bearer.Certs(brokenKeys{})
	mux.Handle("GET /auth/certs/jwk", auth.Public, jwk)
	mux.Handle("GET /auth/certs/pem", auth.Public, pem)
	for _, path := range []string{"jwk", "pem"} {
		got := do(mux, "/acme/v2/auth/certs/"+path)
		if got.Code != 503 || got.Header().Get("Retry-After") == "" || !strings.Contains(got.Body.String(), "error.storeUnavailable") {
			t.Errorf("K03 %s: got %d %s", path, got.Code, got.Body)
		}
	}
}

// hangingKeys never answers.
type hangingKeys struct{}

func (hangingKeys) Exposed(ctx context.Context, _ auth.OrgKey) ([]token.PublicKey, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestAKeyStoreHasTheGuardsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		directory := new(auth.Memory)
		directory.PutOrg(auth.Org{Code: "acme"})
		g := &auth.Guard{Roles: auth.RolesDoNotLimit, BaseURL: "https://api.example.test", Directory: directory, Timeout: 3 * time.Second,
			Mechanisms: []auth.Mechanism{authtest.As(auth.Principal{Account: "ann"})}}
		jwk, _ := bearer.Certs(hangingKeys{})
		begun := time.Now()
		got := do(g.Mount(jwk), "/acme/v2/certs")
		if took := time.Since(begun); got.Code != 503 || took != 3*time.Second {
			t.Errorf("got %d after %s", got.Code, took)
		}
	})
}

func TestCertsOutsideAGuard(t *testing.T) {
	jwk, pem := bearer.Certs(new(token.MemoryKeys))
	for _, h := range []http.Handler{jwk, pem} {
		if got := do(h, "/"); got.Code != 500 {
			t.Errorf("got %d %s", got.Code, got.Body)
		}
	}
}

// TestCertsDuringAnOverlap rotates the pair of an app. Whoever asks with an earlier ETag must get the
// set of now: with the new key at once, and without the former one from its end on.
func TestCertsDuringAnOverlap(t *testing.T) {
	m := newMinting(t)
	first, _ := kidOf(0)
	seen := map[string]bool{}
	step := func(what, etag string, kids ...string) string {
		t.Helper()
		got := m.ask(t, "GET", "/acme/v2/auth/certs/jwk", "If-None-Match", etag)
		tag := got.header.Get("ETag")
		if got.status != 200 || seen[tag] {
			t.Fatalf("%s: got %d, ETag %s", what, got.status, tag)
		}
		seen[tag] = true
		if n := strings.Count(got.body, `"_id"`); n != len(kids) {
			t.Errorf("%s: %d keys, want %d: %s", what, n, len(kids), got.body)
		}
		for _, kid := range kids {
			if !strings.Contains(got.body, kid) {
				t.Errorf("%s: %s is missing", what, kid)
			}
		}
		return tag
	}
	etag := step("before", "", first)
	second, err := m.keys.Rotate(t.Context(), "acme", appA, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	etag = step("during the overlap", etag, second.KeyID, first)
	m.clock.Advance(time.Hour)
	step("at its end", etag, second.KeyID)
}

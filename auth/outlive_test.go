package auth_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"

	"github.com/tenantkit/tenantkit/auth"
)

// A handler may leave goroutines behind, which log or finish a job. They keep the request, the
// context, the tenant and the principal. None of these may become another request's.
func TestWhatAHandlerKeepsStaysItsOwn(t *testing.T) {
	const requests = 200
	g := guard()
	for _, org := range []string{"acme", "globex"} {
		for i := range requests {
			g.Directory.(*auth.Memory).PutAccount(auth.Account{ID: fmt.Sprint("id", i), Org: auth.OrgKey(org)})
		}
	}
	over := make(chan struct{}) // closed once all requests have been answered
	var left sync.WaitGroup
	keep := func(w http.ResponseWriter, r *http.Request) {
		account, path := r.Header.Get("Letter-Wax"), r.Header.Get("Test-Path")
		org := r.Header.Get("Test-Org")
		left.Go(func() {
			<-over
			ctx := r.Context()
			tenant, p := auth.TenantFrom(ctx), auth.From(ctx)
			checked, err := g.Check(r, auth.Authenticated)
			if err != nil || checked.Account != account || p.Account != account || p.Org != auth.OrgKey(org) {
				t.Errorf("%s of %s became %q of %q; checked, %q, %v", account, org, p.Account, p.Org, checked.Account, err)
			}
			if tenant.Org.Code != org || tenant.Command != path || r.URL.Path != path || r.Header.Get("Letter-Wax") != account {
				t.Errorf("%s of %s became %s of %s", path, org, r.URL.Path, tenant.Org.Code)
			}
			if again := r.WithContext(ctx); auth.From(again.Context()).Account != account || ctx.Err() != nil {
				t.Errorf("a copy is of %q, and its context %v", auth.From(again.Context()).Account, ctx.Err())
			}
		})
	}
	mux := g.Mux()
	mux.HandleFunc("GET /c/{id}", auth.Authenticated, keep)

	var wg sync.WaitGroup
	for _, org := range []string{"acme", "globex"} {
		wg.Go(func() {
			for i := range requests {
				path := fmt.Sprint("/c/", org, i)
				r := &http.Request{Method: "GET", URL: &url.URL{Path: "/" + org + "/v2" + path}, Header: http.Header{}}
				r.Header.Set("Letter-Wax", fmt.Sprint("id", i))
				r.Header.Set("Test-Org", org)
				r.Header.Set("Test-Path", path)
				w := httptest.NewRecorder()
				if mux.ServeHTTP(w, r); w.Code != 200 {
					t.Errorf("got %d %s", w.Code, w.Body)
				}
			}
		})
	}
	wg.Wait()
	close(over)
	left.Wait()
}

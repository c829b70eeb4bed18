package apikey_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/apikey"
	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/scope"
)

// A server on which ann makes a key for herself. The key may read notes, and nothing else.
func ExampleKeys_Make() {
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	directory.PutAccount(auth.Account{ID: "ann", Org: "acme"})
	mechanism := &apikey.Mechanism{
		Formats: []apikey.Format{{Prefix: "acme_live"}},
		Store:   apikey.NewMemory(),
		Stale:   2 * time.Second,
	}
	people := authtest.As(auth.Principal{Org: "acme", Account: "ann", Caller: "ann", Mechanism: "session",
		Scope: scope.Unscoped(), Granted: scope.Unscoped(), Authenticated: time.Now()})

	guard := func(m auth.Mechanism) *auth.Mux {
		return (&auth.Guard{BaseURL: "https://api.example.com", Directory: directory, Roles: auth.RolesLimit, Mechanisms: []auth.Mechanism{m}}).Mux()
	}
	var key apikey.Key
	site := guard(people)
	site.HandleFunc("POST /keys", auth.Authenticated.Fresh(10*time.Minute), func(w http.ResponseWriter, r *http.Request) {
		made, record, err := mechanism.Keys().Make(r.Context(), auth.From(r.Context()), auth.TenantFrom(r.Context()), apikey.Grant{
			Name: "my script", Scope: []string{"object.read.c_note"}, Expires: time.Now().AddDate(0, 3, 0),
		})
		if err != nil {
			auth.Fail(w, r, err)
			return
		}
		key = made // show string(made) now: nothing keeps it
		fmt.Println(record.Name, "of", record.Account, made)
	})
	site.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/acme/v2/keys", nil))

	api := guard(mechanism)
	api.HandleFunc("GET /notes", auth.Allow("object.read.c_note"), func(http.ResponseWriter, *http.Request) {})
	api.HandleFunc("DELETE /notes/{id}", auth.Allow("object.delete.c_note.{id}"), func(http.ResponseWriter, *http.Request) {})
	for _, request := range []string{"GET /acme/v2/notes", "DELETE /acme/v2/notes/5b0000000000000000000001"} {
		var method, path string
		fmt.Sscan(request, &method, &path)
		r := httptest.NewRequest(method, path, nil)
		r.Header.Set("Authorization", "Bearer "+string(key))
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		fmt.Println(method, w.Code)
	}
	// Output:
	// my script of ann REDACTED
	// GET 200
	// DELETE 403
}

func ExampleFormat_Regexp() {
	fmt.Println(apikey.Format{Prefix: "acme_live"}.Regexp())
	// Output:
	// \bacme_live_[0-9a-hjkmnp-tv-z]{45}[0-3][0-9a-hjkmnp-tv-z]{6}\b
}

// The keys of an org that end within a fortnight.
func ExampleRecords() {
	store, now := apikey.NewMemory(), time.Now()
	ctx := context.Background()
	for name, days := range map[string]int{"build server": 3, "partner": 90} {
		r := apikey.Record{ID: name, Org: "acme", Created: now, Grant: apikey.Grant{Name: name, Account: "ann", Expires: now.AddDate(0, 0, days)}}
		if err := store.Add(ctx, r, 100); err != nil {
			panic(err)
		}
	}
	for r, err := range apikey.Records(ctx, store, apikey.Of{Org: "acme", EndsBefore: now.AddDate(0, 0, 14)}) {
		fmt.Println(r.Name, r.LiveAt(now), err)
	}
	// Output:
	// build server true <nil>
}

package auth_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/scope"
)

// A route that updates what a body names, and admits chains of single properties.
func ExamplePrincipal_MayWrite() {
	title, err := scope.Compile("token", "object.update.c_note.*.title")
	if err != nil {
		fmt.Println(err)
		return
	}
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	guard := &auth.Guard{
		Roles:      auth.RolesLimit,
		BaseURL:    "https://api.example.com",
		Directory:  directory,
		Mechanisms: []auth.Mechanism{authtest.As(auth.Principal{Account: "ann", Scope: title})},
	}
	mux := guard.Mux()
	update := func(w http.ResponseWriter, r *http.Request, _ scope.Part) {
		var changes map[string]any
		if err := json.NewDecoder(r.Body).Decode(&changes); err != nil {
			auth.Fail(w, r, &auth.Error{Detail: auth.DetailBody, Err: err})
			return
		}
		names := slices.Collect(maps.Keys(changes))
		if err := auth.From(r.Context()).MayWrite(scope.Update, "c_note", r.PathValue("id"), names); err != nil {
			auth.Fail(w, r, err)
			return
		}
		fmt.Fprint(w, "written: ", changes)
	}
	mux.Handle("PATCH /notes/{id}", auth.Some("object.update.c_note.{id}"), auth.PartHandler(update))
	for _, body := range []string{`{"title":"b"}`, `{"title":"b","author":null}`} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest("PATCH", "/acme/v2/notes/5b0000000000000000000001", strings.NewReader(body)))
		fmt.Println(w.Code, strings.ReplaceAll(w.Body.String(), `"faults":[{`, "\n  "+`"faults":[{`))
	}
	// Output:
	// 200 written: map[title:b]
	// 403 {"object":"fault","name":"error","code":"kAccessDenied","errCode":"service.accessDenied.scope","status":403,"message":"Missing a required token scope.","reason":"object.update.c_note.5b0000000000000000000001",
	//   "faults":[{"object":"fault","name":"error","code":"kAccessDenied","errCode":"service.accessDenied.scope","status":403,"message":"Missing a required token scope.","reason":"object.update.c_note.5b0000000000000000000001.author","path":"author","faults":[]}]}
}

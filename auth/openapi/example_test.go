package openapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/auth/openapi"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/scope"
	"github.com/tenantkit/tenantkit/token"
)

type note struct {
	envelope.Item
	Text string `json:"text"`
}

type noteBody struct {
	Text string `json:"text"`
}

var notes = &paging.Schema{
	Object:     "c_note",
	Properties: []paging.Property{{Path: "text", Type: paging.String, Filter: true, Sort: true}},
}

// A server describes its lists by their schemas and its bodies by Go types, and serves the
// document as one of its routes.
func Example() {
	directory := &auth.Memory{}
	directory.PutOrg(auth.Org{Code: "acme"})
	guard := &auth.Guard{
		Roles:      auth.RolesLimit,
		BaseURL:    "https://api.example.net",
		Directory:  directory,
		Mechanisms: []auth.Mechanism{&bearer.Mechanism{Keys: &token.MemoryKeys{}}},
	}
	mux := guard.Mux()
	handler := func(w http.ResponseWriter, r *http.Request) {}
	mux.Handle("GET /notes", auth.Some("object.read.c_note"), auth.PartHandler(func(http.ResponseWriter, *http.Request, scope.Part) {}))
	mux.HandleFunc("POST /notes", auth.Allow("object.create.c_note"), handler)

	document := &openapi.Document{
		Mux:     mux,
		Title:   "Notes",
		Version: "1.0.0",
		Routes: map[string]openapi.Route{
			"GET /notes":  {Summary: "List notes", List: notes},
			"POST /notes": {Summary: "Make a note", Request: noteBody{Text: "buy milk"}, Reply: note{}},
		},
	}
	mux.Handle("GET /openapi.json", auth.Public, document)
	if _, err := document.JSON(); err != nil {
		panic(err)
	}

	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("GET", "/acme/v2/openapi.json", nil))
	var described struct {
		Paths map[string]map[string]struct {
			Summary  string
			Security []map[string][]string
			Need     struct{ Scope string } `json:"x-need"`
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &described); err != nil {
		panic(err)
	}
	post := described.Paths["/notes"]["post"]
	fmt.Println(w.Code, post.Summary, post.Security, post.Need.Scope)
	// Output: 200 Make a note [map[bearer:[]]] object.create.c_note
}

// A route that answers with a page of notes, or with one number.
func ExampleListOf() {
	route := openapi.Route{Reply: openapi.AnyOf{openapi.ListOf(notes), envelope.Result[int]{}}}
	fmt.Println(len(route.Reply.(openapi.AnyOf)), "forms")
	// Output: 2 forms
}

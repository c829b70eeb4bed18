package openapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/auth/issuer"
	"github.com/tenantkit/tenantkit/auth/openapi"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/envelope/body"
	"github.com/tenantkit/tenantkit/internal/faults"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/scope"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

var update = flag.Bool("update", false, "write testdata/golden.json")

type value = map[string]any

func newMux(change ...func(*auth.Guard)) *auth.Mux {
	directory := &auth.Memory{}
	directory.PutOrg(auth.Org{Code: "acme"})
	g := &auth.Guard{
		Roles:     auth.RolesDoNotLimit,
		BaseURL:   "https://api.example.net",
		Directory: directory,
		Mechanisms: []auth.Mechanism{
			&signature.Mechanism{Credentials: signature.Memory{}, Replays: signing.NewMemory(10)},
			&bearer.Mechanism{Keys: &token.MemoryKeys{}},
			&session.Manager{Store: new(session.Memory).Sessions(), Attempts: new(session.Memory).Attempts()},
		},
	}
	for _, c := range change {
		c(g)
	}
	return g.Mux()
}

func handle(mux *auth.Mux, pattern string, n auth.Need) {
	if n.Describe().Part {
		mux.Handle(pattern, n, auth.PartHandler(func(http.ResponseWriter, *http.Request, scope.Part) {}))
		return
	}
	mux.HandleFunc(pattern, n, func(http.ResponseWriter, *http.Request) {})
}

// described makes the document of a Mux, and decodes it.
func described(t *testing.T, mux *auth.Mux, routes map[string]openapi.Route) value {
	t.Helper()
	text, err := (&openapi.Document{Mux: mux, Title: "Notes", Version: "1.0.0", Routes: routes}).JSON()
	if err != nil {
		t.Fatal(err)
	}
	var d value
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// at returns the value at the names.
func at(t *testing.T, v any, names ...string) any {
	t.Helper()
	for _, name := range names {
		o, _ := v.(value)
		if v = o[name]; v == nil {
			t.Fatalf("there is no %s of %v", name, names)
		}
	}
	return v
}

func decoded(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestGoldenDocument(t *testing.T) {
	mux := newMux(func(g *auth.Guard) {
		g.Versions = []string{"v2", "v3"}
		g.Brand = auth.Brand{Header: "Acme-", Claims: "acme/", Faults: "acme"}
	})
	comments := &paging.Schema{Object: "c_comment", Max: 50, Properties: []paging.Property{
		{Path: "text", Type: paging.String}, {Path: "at", Type: paging.Date, Sort: true},
	}}
	list := &paging.Schema{Object: "c_note", Properties: []paging.Property{
		{Path: "text", Type: paging.String, Filter: true, Sort: true, Null: true},
		{Path: "meta.po", Type: paging.Integer, Filter: true},
		{Path: "tags[]", Type: paging.String, Filter: true, Sort: true},
		{Path: "comments", List: comments},
		{Path: "secret", Type: paging.String, Filter: true, Sort: true, Hidden: true},
	}}
	document := &openapi.Document{
		Mux: mux, Title: "Notes", Version: "1.0.0", Description: "A server of notes.", Contact: "https://example.net/help",
		Routes: map[string]openapi.Route{
			"GET /notes":      {Summary: "List notes", List: list},
			"GET /notes/{id}": {Summary: "Read a note", Object: list},
			"POST /notes":     {Request: noteBody{Text: "buy milk"}, Reply: note{}},
			"PATCH /notes/{key}": {
				Request: body.Form{{Path: "text", Kind: body.String, Null: true}, {Path: "meta.po", Kind: body.Integer}},
				Reply:   list,
			},
		},
	}
	handle(mux, "GET /notes", auth.Some("object.read.c_note"))
	handle(mux, "POST /notes", auth.Allow("object.create.c_note"))
	handle(mux, "GET /notes/{id}", auth.Some("object.read.c_note.{id}"))
	handle(mux, "PATCH /notes/{key}", auth.Some("object.update.c_note.{key}").Fresh(10*time.Minute, session.Name))
	handle(mux, "GET /notes/{id}/{path...}", auth.Some("object.read.c_note.{id}.{path...}"))
	mux.Handle("GET /openapi.json", auth.Public, document)

	text, err := document.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var described map[string]any
	if err := json.Unmarshal(text, &described); err != nil {
		t.Fatal(err)
	}
	delete(described["components"].(map[string]any), "examples") // of all faults: see TestEveryFaultIsDescribed
	var got bytes.Buffer
	write := json.NewEncoder(&got)
	write.SetEscapeHTML(false)
	write.SetIndent("", "  ")
	if err := write.Encode(described); err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/golden.json"
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("go test ./auth/openapi -update writes it (-want +got):\n%s", diff)
	}
	if strings.Contains(got.String(), `"secret"`) {
		t.Error("a hidden property is described")
	}
}

func TestNeeds(t *testing.T) {
	const signed = `{"signature_Client_Key":[],"signature_Client_Nonce":[],"signature_Client_Signature":[],"signature_Client_Timestamp":[]},` +
		`{"signature_Signature":[],"signature_Signature_Input":[]}`
	all := signed + `,{"bearer":[]},{"session":[]},{"issuer":[]}`
	for name, test := range map[string]struct {
		need            auth.Need
		security, xNeed string
	}{
		"a public route needs nothing":        {auth.Public, `[]`, `null`},
		"a credential may be optional":        {auth.Optional, `[{},` + all + `]`, `null`},
		"any credential":                      {auth.Authenticated, `[` + all + `]`, `null`},
		"a scope chain":                       {auth.Allow("admin.read"), `[` + all + `]`, `{"scope":"admin.read"}`},
		"a part of a scope chain":             {auth.Some("object.read.c_note"), `[` + all + `]`, `{"scope":"object.read.c_note","part":true}`},
		"certain mechanisms":                  {auth.Authenticated.By(session.Name), `[{"session":[]}]`, `null`},
		"the tokens of another issuer":        {auth.Authenticated.By(issuer.Name), `[{"issuer":[]}]`, `null`},
		"a fresh credential":                  {auth.Authenticated.Fresh(time.Minute), `[` + all + `]`, `{"fresh":60}`},
		"a fresh credential of one mechanism": {auth.Authenticated.Fresh(time.Minute, session.Name), `[` + all + `]`, `{"fresh":60,"freshFor":["session"]}`},
	} {
		t.Run(name, func(t *testing.T) {
			mux := newMux(func(g *auth.Guard) {
				g.Mechanisms = append(g.Mechanisms, &issuer.Mechanism{Issuers: []*issuer.Issuer{{
					Org: "acme", URL: "https://id.example.net", Audience: "notes", Discover: true,
					Map: func(context.Context, *auth.Tenant, *issuer.Foreign) (g issuer.Identity, err error) { return },
				}}})
			})
			handle(mux, "GET /notes", test.need)
			get := at(t, described(t, mux, nil), "paths", "/notes", "get").(value)
			if diff := cmp.Diff(decoded(t, test.security), get["security"]); diff != "" {
				t.Errorf("security (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(decoded(t, test.xNeed), get["x-need"]); diff != "" {
				t.Errorf("x-need (-want +got):\n%s", diff)
			}
		})
	}
}

type tree struct {
	Name     string           `json:"name"`
	Children []tree           `json:"children,omitempty"`
	Parent   *tree            `json:"parent"`
	Named    map[string]*tree `json:"named,omitzero"`
}

type forest []forest

type base struct {
	ID    string `json:"_id"`
	Shown string `json:"shown"`
}

type kinds struct {
	base
	*note
	Shown   int             `json:"shown"` // hides that of base
	When    time.Time       `json:"when"`
	Raw     json.RawMessage `json:"raw"`
	Bytes   []byte          `json:"bytes,omitempty"`
	Number  float64         `json:"number"`
	Count   uint            `json:"count"`
	Quoted  int64           `json:"quoted,string"`
	Any     any             `json:"any"`
	Labels  map[string]int  `json:"labels"`
	Array   [2]bool         `json:"array"`
	Skipped string          `json:"-"`
	Untagged
	hidden string
}

type Untagged struct{ Plain bool }

func TestGoTypes(t *testing.T) {
	const int64s = `{"type":"integer","format":"int64"}`
	for name, test := range map[string]struct {
		reply, request any
		want, named    string // the schema of the body, and the component it refers to
	}{
		"fields as encoding/json writes them": {reply: kinds{hidden: ""}, want: `{"$ref":"#/components/schemas/kinds"}`, named: `{"type":"object",
			"required":["Plain","_id","any","array","count","labels","number","quoted","raw","shown","when"],"properties":{
			"_id":{"type":"string"},"object":{"type":"string"},"text":{"type":"string"},"shown":` + int64s + `,
			"when":{"type":"string","format":"date-time"},"raw":{},"bytes":{"type":"string","contentEncoding":"base64"},
			"number":{"type":"number","format":"double"},"count":{"type":"integer","minimum":0},"quoted":{"type":"string"},"any":{},
			"labels":{"type":["object","null"],"additionalProperties":` + int64s + `},
			"array":{"type":"array","items":{"type":"boolean"}},"Plain":{"type":"boolean"}}}`},
		"a type that contains itself": {reply: tree{}, want: `{"$ref":"#/components/schemas/tree"}`, named: `{"type":"object",
			"required":["name","parent"],"properties":{"name":{"type":"string"},
			"children":{"type":"array","items":{"$ref":"#/components/schemas/tree"}},
			"parent":{"anyOf":[{"$ref":"#/components/schemas/tree"},{"type":"null"}]},
			"named":{"type":"object","additionalProperties":{"anyOf":[{"$ref":"#/components/schemas/tree"},{"type":"null"}]}}}}`},
		"a slice of itself": {reply: forest{}, want: `{"$ref":"#/components/schemas/forest"}`,
			named: `{"type":"array","items":{"anyOf":[{"$ref":"#/components/schemas/forest"},{"type":"null"}]}}`},
		"a list": {reply: envelope.List[int]{}, want: `{"type":"object","required":["object","data","hasMore"],"properties":{
			"object":{"type":"string","const":"list"},"data":{"type":"array","items":` + int64s + `},"hasMore":{"type":"boolean"}}}`},
		"a result": {reply: envelope.Result[*bool]{}, want: `{"type":"object","required":["object","data"],"properties":{
			"object":{"type":"string","const":"result"},"data":{"type":["boolean","null"]}}}`},
		"a request, as body.Read reads it": {request: struct {
			Name  string   `json:"name"`
			Tags  []string `json:"tags"`
			Note  *string  `json:"note"`
			Later string   `json:"later,omitempty"`
		}{}, want: `{"type":"object","required":["name","tags"],"properties":{"name":{"type":"string"},"later":{"type":"string"},
			"tags":{"type":"array","items":{"type":"string"}},"note":{"type":["string","null"]}}}`},
		"a form": {request: body.Form{
			{Path: "name", Kind: body.String, Required: true},
			{Path: "inner", Null: true},
			{Path: "inner.flags", Kind: body.Strings, Null: true},
			{Path: "inner.n", Kind: body.Integer, Required: true},
			{Path: "own", Kind: body.Kind{Read: body.String.Read, Schema: value{"enum": []string{"a"}}}, Null: true},
			{Path: "unsaid", Kind: body.Kind{Read: body.String.Read}},
		}, want: `{"type":"object","additionalProperties":false,"required":["name"],"properties":{"name":{"type":"string"},
			"inner":{"type":["object","null"],"additionalProperties":false,"required":["n"],"properties":{
				"n":` + int64s + `,"flags":{"type":["array","null"],"items":{"type":"string"}}}},
			"own":{"anyOf":[{"enum":["a"]},{"type":"null"}]}}}`},
		"one of several bodies": {reply: openapi.AnyOf{openapi.ListOf(notes), envelope.Result[bool]{}}, want: `{"anyOf":[
			{"type":"object","required":["object","data","hasMore"],"properties":{"object":{"type":"string","const":"list"},
				"data":{"type":"array","items":{"$ref":"#/components/schemas/c_note"}},"hasMore":{"type":"boolean"}}},
			{"type":"object","required":["object","data"],"properties":{"object":{"type":"string","const":"result"},"data":{"type":"boolean"}}}]}`},
		"a form of the whole body": {request: body.Form{{Kind: body.Object}}, want: `{"type":"object"}`},
	} {
		t.Run(name, func(t *testing.T) {
			mux := newMux()
			handle(mux, "POST /notes", auth.Public)
			d := described(t, mux, map[string]openapi.Route{"POST /notes": {Request: test.request, Reply: test.reply}})
			post := at(t, d, "paths", "/notes", "post")
			body := at(t, post, "responses", "200")
			if test.request != nil {
				body = at(t, post, "requestBody")
			}
			got := at(t, body, "content", "application/json", "schema")
			if diff := cmp.Diff(decoded(t, test.want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if test.named == "" {
				return
			}
			_, component, _ := strings.Cut(at(t, got, "$ref").(string), "schemas/")
			if diff := cmp.Diff(decoded(t, test.named), at(t, d, "components", "schemas", component)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", component, diff)
			}
		})
	}
}

func TestExamples(t *testing.T) {
	mux := newMux()
	handle(mux, "POST /notes", auth.Public)
	d := described(t, mux, map[string]openapi.Route{"POST /notes": {Request: noteBody{Text: "buy milk"}, Reply: note{}}})
	post := at(t, d, "paths", "/notes", "post")
	if diff := cmp.Diff(any(value{"text": "buy milk"}), at(t, post, "requestBody", "content", "application/json", "example")); diff != "" {
		t.Error(diff)
	}
	if content := at(t, post, "responses", "200", "content", "application/json").(value); content["example"] != nil {
		t.Errorf("the zero value is an example: %v", content)
	}
}

func TestABodyIsRequired(t *testing.T) {
	mux := newMux()
	handle(mux, "POST /notes", auth.Public)
	form := body.Form{{Path: "text", Kind: body.String}}
	for optional, route := range map[bool]openapi.Route{false: {Request: form}, true: {Request: form, BodyOptional: true}} {
		d := described(t, mux, map[string]openapi.Route{"POST /notes": route})
		if required := at(t, d, "paths", "/notes", "post", "requestBody", "required"); required != !optional {
			t.Errorf("optional %t: required is %v", optional, required)
		}
	}
}

func TestTwoTypesOfOneName(t *testing.T) {
	type note struct{ Other bool }
	type Fault struct{ Mine bool }
	mux := newMux()
	handle(mux, "POST /notes", auth.Public)
	handle(mux, "PUT /notes", auth.Public)
	schemas := at(t, described(t, mux, map[string]openapi.Route{
		"POST /notes": {Request: note{}, Reply: Fault{}},
		"PUT /notes":  {Request: noteBody{}, Reply: note{}},
	}), "components", "schemas").(value)
	if got, want := slices.Sorted(maps.Keys(schemas)), []string{"Fault", "Fault2", "Problem", "note", "noteBodyRequest", "noteRequest"}; !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if _, mine := at(t, schemas, "Fault", "properties").(value)["Mine"]; mine {
		t.Error("a type of the application replaces the fault")
	}
}

func TestEveryFaultIsDescribed(t *testing.T) {
	mux := newMux(func(g *auth.Guard) { g.Brand.Faults = "acme" })
	handle(mux, "GET /notes", auth.Public)
	handle(mux, "POST /notes", auth.Public)
	d := described(t, mux, map[string]openapi.Route{"POST /notes": {IdempotencyKey: "required"}})
	for _, detail := range faults.Details() {
		f := (&auth.Error{Detail: detail}).Fault()
		example := at(t, d, "components", "examples", detail, "value").(value)
		if example["errCode"] != "acme."+detail || example["status"] != float64(f.Status) {
			t.Errorf("%s: %v", detail, example)
		}
		response := strconv.Itoa(f.Status)
		if f.Status == 405 { // of methods that are not described
			response = "default"
		}
		_, name, _ := strings.Cut(at(t, d, "paths", "/notes", "post", "responses", response, "$ref").(string), "responses/")
		at(t, d, "components", "responses", name, "content", "application/json", "examples", detail)
	}
	key := at(t, d, "paths", "/notes", "post", "parameters").([]any)[0].(value)
	if key["name"] != "Idempotency-Key" || key["in"] != "header" || key["required"] != true {
		t.Errorf("the key: %v", key)
	}
	get := at(t, d, "paths", "/notes", "get").(value)
	if _, key := at(t, get, "responses").(value)["422"]; key || get["parameters"] != nil {
		t.Error("a GET has a key")
	}
	if _, body := at(t, d, "paths", "/notes", "get", "responses").(value)["413"]; body {
		t.Error("a GET has a response for bodies")
	}
}

func TestPatterns(t *testing.T) {
	mux := newMux()
	handle(mux, "/", auth.Public)
	handle(mux, "GET /notes/{id}", auth.Allow("object.read.c_note.{id}"))
	handle(mux, "DELETE /notes/{note}", auth.Allow("object.delete.c_note.{note}"))
	handle(mux, "GET /notes/{id}/{path...}", auth.Some("object.read.c_note.{id}.{path...}"))
	handle(mux, "GET /notes/by/id", auth.Public)
	handle(mux, "GET /notes/by_id", auth.Public)
	paths := at(t, described(t, mux, nil), "paths").(value)
	want := []string{"/", "/notes/by/id", "/notes/by_id", "/notes/{id}", "/notes/{id}/{path}"}
	if got := slices.Sorted(maps.Keys(paths)); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if got := slices.Sorted(maps.Keys(at(t, paths, "/").(value))); !slices.Equal(got, []string{"delete", "get", "patch", "post", "put"}) {
		t.Errorf("a pattern of every method has %v", got)
	}
	if got := at(t, paths, "/notes/{id}", "delete", "x-need", "scope"); got != "object.delete.c_note.{id}" {
		t.Errorf("a parameter that has another name in another pattern: %v", got)
	}
	if got := at(t, paths, "/notes/{id}/{path}", "get", "x-need", "scope"); got != "object.read.c_note.{id}.{path}" {
		t.Errorf("a parameter of several segments: %v", got)
	}
	ids := make(map[any]bool)
	for _, path := range paths {
		for _, operation := range path.(value) {
			if id := at(t, operation, "operationId"); ids[id] {
				t.Errorf("two operations are %v", id)
			} else {
				ids[id] = true
			}
		}
	}
}

func TestListArguments(t *testing.T) {
	s := &paging.Schema{Object: "c_note", Default: 5, Max: 50, Count: true, Properties: []paging.Property{
		{Path: "likes", Type: paging.Integer, Filter: true, Sort: true, Null: true},
		{Path: "secret", Type: paging.String, Filter: true, Sort: true, Hidden: true},
		{Path: "raw", Filter: true, Sort: true},
	}}
	s.Properties = append(s.Properties, paging.Property{Path: "replies", List: s})
	mux := newMux()
	handle(mux, "GET /notes", auth.Public)
	handle(mux, "GET /notes/{id}", auth.Public)
	d := described(t, mux, map[string]openapi.Route{"GET /notes": {List: s}, "GET /notes/{id}": {Object: s}})
	names := func(path string) (all []string) {
		for _, p := range at(t, d, "paths", path, "get", "parameters").([]any) {
			all = append(all, at(t, p, "name").(string))
		}
		return all
	}
	list := names("/notes")
	if got, want := strings.Join(list[:10], " "), "paths[] limit skip sort where count replies.limit replies.skip replies.sort replies.where"; got != want {
		t.Errorf("a list has %s", got)
	}
	if one := names("/notes/{id}"); !slices.Equal(one[:3], []string{"id", "paths[]", "replies.limit"}) {
		t.Errorf("an object has %v", one)
	}
	all := func(string) bool { return true }
	for _, name := range list {
		sent := map[string]string{"count": "true", "limit": "1", "skip": "10000", "sort": `{"likes":-1}`, "where": `{"likes":{"$gte":5}}`, "paths[]": "likes"}
		last := name[strings.LastIndex(name, ".")+1:]
		if _, err := s.Parse(url.Values{name: {sent[last]}}.Encode(), all); err != nil {
			t.Errorf("%s is described, and refused: %v", name, err)
		}
	}
	reply := func(s *paging.Schema) string {
		mux := newMux()
		handle(mux, "GET /notes", auth.Public)
		d := described(t, mux, map[string]openapi.Route{"GET /notes": {List: s}})
		properties := at(t, d, "paths", "/notes", "get", "responses", "200", "content", "application/json", "schema", "properties")
		return strings.Join(slices.Sorted(maps.Keys(properties.(value))), " ")
	}
	if got := reply(s); got != "data hasMore object total totalIsAtLeast" {
		t.Errorf("a list that is counted has %s", got)
	}
	if got := reply(&paging.Schema{}); got != "data hasMore object" {
		t.Errorf("a list that is not counted has %s", got)
	}
	if _, err := s.Parse("skip=10001", all); err == nil {
		t.Error("a larger skip than described is accepted")
	}
	where := at(t, d, "components", "schemas", "c_noteWhere", "properties").(value)
	if got, want := slices.Sorted(maps.Keys(where)), []string{"$and", "$nor", "$or", "_id", "likes", "object"}; !slices.Equal(got, want) {
		t.Errorf("a where can name %v", got)
	}
	operators := at(t, where["likes"].(value)["anyOf"].([]any)[1], "properties").(value)
	for operator := range operators {
		value := map[string]string{"$in": "[1]", "$nin": "[1]", "$exists": "true", "$not": `{"$eq":1}`}[operator]
		if value == "" {
			value = "1"
		}
		query := url.Values{"where": {fmt.Sprintf(`{"likes":{%q:%s}}`, operator, value)}}.Encode()
		if _, err := s.Parse(query, all); err != nil {
			t.Errorf("%s is described, and refused: %v", operator, err)
		}
	}
	if _, described := at(t, where["_id"].(value)["anyOf"].([]any)[1], "properties").(value)["$prefix"]; !described || operators["$prefix"] != nil {
		t.Error("strings have no prefix, or numbers have one")
	}
	if text, _ := json.Marshal(d); strings.Contains(string(text), "secret`") || strings.Contains(string(text), `"secret"`) {
		t.Error("a hidden property is described")
	}
}

// some is a mechanism of the application.
var some = authtest.As(auth.Principal{Account: "ann"})

type describer struct {
	auth.Mechanism
	scheme openapi.Scheme
}

func (d describer) Schemes(*auth.Settings) []openapi.Scheme { return []openapi.Scheme{d.scheme} }

func TestRefusedDocuments(t *testing.T) {
	other := func(m auth.Mechanism) *auth.Mux {
		return newMux(func(g *auth.Guard) { g.Mechanisms = []auth.Mechanism{m} })
	}
	own := newMux(func(g *auth.Guard) {
		g.Resolve = func(context.Context, *http.Request) (auth.Address, error) {
			return auth.Address{}, errors.New("x")
		}
	})
	clash := newMux()
	handle(clash, "GET /notes/{id}", auth.Public)
	handle(clash, "GET /notes/{path...}", auth.Public)
	for name, d := range map[string]*openapi.Document{
		"no Mux":                               {Title: "x", Version: "1"},
		"no title":                             {Mux: newMux(), Version: "1"},
		"no version":                           {Mux: newMux(), Title: "x"},
		"a description of no route":            {Mux: newMux(), Title: "x", Version: "1", Routes: map[string]openapi.Route{"GET /notse": {}}},
		"a use of keys that there is not":      {Mux: clash, Title: "x", Version: "1", Routes: map[string]openapi.Route{"GET /notes/{id}": {IdempotencyKey: "yes"}}},
		"a mechanism that is no Describer":     {Mux: other(some), Title: "x", Version: "1"},
		"a scheme without a place":             {Mux: other(describer{some, openapi.Scheme{Name: "x"}}), Title: "x", Version: "1"},
		"a credential without a place":         {Mux: clash, Title: "x", Version: "1", Routes: map[string]openapi.Route{"GET /notes/{id}": {Credentials: []openapi.Scheme{{Name: "x"}}}}},
		"a Resolve of the server's own":        {Mux: own, Title: "x", Version: "1"},
		"two patterns that OpenAPI has as one": {Mux: clash, Title: "x", Version: "1"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := d.JSON(); err == nil {
				t.Error("is accepted")
			}
			w := httptest.NewRecorder()
			d.ServeHTTP(w, httptest.NewRequest("GET", "/openapi.json", nil))
			if w.Code != 500 || !strings.Contains(w.Body.String(), "error.unspecified") {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		})
	}
	key := describer{some, openapi.Scheme{Name: "apikey", Authorization: "ApiKey"}}
	described(t, other(key), nil)
	if _, err := (&openapi.Document{Mux: own, Title: "x", Version: "1", Servers: []string{"https://{org}.example.net"}}).JSON(); err != nil {
		t.Error(err)
	}
}

func TestServing(t *testing.T) {
	mux := newMux()
	d := &openapi.Document{Mux: mux, Title: "Notes", Version: "1.0.0"}
	mux.Handle("GET /openapi.json", auth.Public, d)
	fetch := func(method string, header ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "/acme/v2/openapi.json", nil)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		return w
	}
	whole := fetch("GET")
	text, err := d.JSON()
	if err != nil || whole.Code != 200 || whole.Body.String() != string(text) {
		t.Fatalf("%d %v", whole.Code, err)
	}
	if !strings.Contains(string(text), `"/openapi.json"`) {
		t.Error("the document lacks its own route")
	}
	h := whole.Header()
	if h.Get("Content-Type") != "application/json; charset=utf-8" || h.Get("Cache-Control") != "public, max-age=300" || h.Get("ETag") == "" {
		t.Errorf("%v", h)
	}
	if again := fetch("GET", "If-None-Match", h.Get("ETag")); again.Code != 304 || again.Body.Len() > 0 {
		t.Errorf("asked for again: %d", again.Code)
	}
	if part := fetch("GET", "Range", "bytes=5-9", "If-Match", `"x"`); part.Code != 200 || part.Body.Len() != len(text) {
		t.Errorf("a range: %d", part.Code)
	}
	if head := fetch("HEAD"); head.Code != 200 || head.Body.Len() > 0 {
		t.Errorf("HEAD: %d", head.Code)
	}
}

// TestAnySchemaMakesOneDocument makes documents of random schemas, also of those that make no
// sense, or that contain themselves.
func TestAnySchemaMakesOneDocument(t *testing.T) {
	paths := []string{"", "a", "a.b", "a[].b", "a[]", "b#c_x", "b#c_x.c", "é\"\x00", "..", "Fault", "_id", "a.b.c.d", "$and"}
	types := []paging.Type{paging.Any, paging.String, paging.Integer, paging.Number, paging.Boolean, paging.Date}
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		schemas := []*paging.Schema{{Object: "c_a"}, {Object: "c_a"}, {Object: "Fault"}, {}, {Object: "é/#"}}
		for _, s := range schemas {
			s.Default, s.Max = random.IntN(5)-2, random.IntN(5)-2
			for range random.IntN(6) {
				p := paging.Property{
					Path: paths[random.IntN(len(paths))], Type: types[random.IntN(len(types))],
					Filter: random.IntN(2) > 0, Sort: random.IntN(2) > 0, Null: random.IntN(2) > 0, Hidden: random.IntN(6) == 0,
				}
				if random.IntN(3) == 0 {
					p.List = schemas[random.IntN(len(schemas))]
				}
				s.Properties = append(s.Properties, p)
			}
		}
		made := func() string {
			mux := newMux()
			handle(mux, "GET /notes", auth.Public)
			handle(mux, "GET /notes/{id}", auth.Public)
			text, err := (&openapi.Document{Mux: mux, Title: "x", Version: "1", Routes: map[string]openapi.Route{
				"GET /notes": {List: schemas[0]}, "GET /notes/{id}": {Object: schemas[1], Reply: schemas[2]},
			}}).JSON()
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			return string(text)
		}
		text := made()
		if made() != text {
			t.Fatalf("seed %d: two documents of one Mux differ", seed)
		}
		var d value
		if err := json.Unmarshal([]byte(text), &d); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for _, reference := range references(d) {
			at(t, d, strings.Split(strings.TrimPrefix(reference, "#/"), "/")...)
		}
	}
}

// references returns each $ref in a document.
func references(v any) (all []string) {
	switch v := v.(type) {
	case value:
		for name, inner := range v {
			if target, ok := inner.(string); ok && name == "$ref" {
				all = append(all, target)
			}
			all = append(all, references(inner)...)
		}
	case []any:
		for _, inner := range v {
			all = append(all, references(inner)...)
		}
	}
	return all
}

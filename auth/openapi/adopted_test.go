package openapi_test

import (
	"encoding/json"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/auth/oauth"
	"github.com/tenantkit/tenantkit/auth/openapi"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging/sqllist"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
	"github.com/tenantkit/tenantkit/scope"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

type invoiceState string

func (invoiceState) Values() []string { return []string{"open", "paid"} }

// invoice is a row of a list, and the reply of a route.
type invoice struct {
	envelope.Item `page:"id,bigint"`
	_             string        `page:"company_id,bigint,tenant"`
	Amount        json.Number   `json:"amount" page:"amount,filter,sort"`
	State         invoiceState  `json:"state" page:"state,enum,filter"`
	Sent          envelope.Time `json:"sent" page:"sent_at,filter,sort"`
	Note          *string       `json:"note" page:"note"`
	Tags          []string      `json:"tags" page:"tags,array,filter"`
}

type newInvoice struct {
	Amount json.Number  `json:"amount"`
	State  invoiceState `json:"state,omitempty"`
}

var invoices = sqllist.Must[invoice](sqllist.Declaration{Table: "invoices", Object: "invoice", Count: true})

func adopted(t *testing.T, scopes *scope.Grammar, versions signing.Policy) (*openapi.Document, error) {
	t.Helper()
	mux := newMux(func(g *auth.Guard) {
		g.Mechanisms[0].(*signature.Mechanism).Policy = versions
		g.Mechanisms[1].(*bearer.Mechanism).Signers = new(token.MemoryKeys)
		g.Scopes = scopes
	})
	for _, route := range []struct {
		pattern string
		need    auth.Need
	}{
		{"GET /invoices", auth.Some("object.read.invoice")}, {"GET /invoices/{id}", auth.Allow("object.read.invoice.{id}")},
		{"POST /invoices", auth.Allow("object.create.invoice")}, {"DELETE /invoices/{id}", auth.Allow("object.delete.invoice.{id}")},
		{"GET /login", auth.Public}, {"POST /oauth/token", auth.Public}, {"POST /oauth/introspect", auth.Public}, {"POST /oauth/revoke", auth.Public},
	} {
		handle(mux, route.pattern, route.need)
	}
	routes := map[string]openapi.Route{
		"GET /invoices":         {List: invoices},
		"GET /invoices/{id}":    {Object: invoices},
		"POST /invoices":        {Request: newInvoice{}, Reply: invoice{}, Status: 201},
		"DELETE /invoices/{id}": {Status: 204},
		"GET /login":            {Status: 302},
	}
	maps.Copy(routes, new(oauth.Server).Describe(mux.Guard()))
	d := &openapi.Document{Mux: mux, Title: "Invoices", Version: "1.0.0", Description: "Invoices.", Contact: "https://example.com", Routes: routes}
	_, err := d.JSON()
	return d, err
}

// TestWhatAdoptersDescribe has money, an enum, other statuses than 200 and the endpoints of OAuth.
// With OPENAPI set it writes the document there, for a generator.
func TestWhatAdoptersDescribe(t *testing.T) {
	document, err := adopted(t, &scope.Grammar{Identifier: sqlpage.Digits}, signing.Policy{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := document.JSON()
	if err != nil {
		t.Fatal(err)
	}
	if file := os.Getenv("OPENAPI"); file != "" {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d := decoded(t, string(text))
	const money = `{"type":"number","x-go-type":"json.Number"}`
	const state = `{"type":"string","enum":["open","paid"]}`
	for name, test := range map[string]struct {
		path []string
		want string
	}{
		"money in a list":             {[]string{"components", "schemas", "invoice", "properties", "amount"}, money},
		"money in a reply":            {[]string{"components", "schemas", "invoice2", "properties", "amount"}, money},
		"money in a request":          {[]string{"components", "schemas", "newInvoiceRequest", "properties", "amount"}, money},
		"an enum in a list":           {[]string{"components", "schemas", "invoice", "properties", "state"}, state},
		"an enum in a reply":          {[]string{"components", "schemas", "invoiceState"}, state},
		"an enum in a filter":         {[]string{"components", "schemas", "invoiceWhere", "properties", "state", "anyOf"}, ""},
		"an object":                   {[]string{"components", "schemas", "invoiceWhole", "required"}, `["_id","amount","object","sent","state","tags"]`},
		"an item":                     {[]string{"components", "schemas", "invoice", "required"}, `["_id","object"]`},
		"a time":                      {[]string{"components", "schemas", "invoice2", "properties", "sent"}, `{"type":"string","format":"date-time"}`},
		"a 201":                       {[]string{"paths", "/invoices", "post", "responses", "201", "headers", "Location", "schema"}, `{"type":"string"}`},
		"a 204":                       {[]string{"paths", "/invoices/{id}", "delete", "responses", "204"}, `{"description":"No Content."}`},
		"a 302":                       {[]string{"paths", "/login", "get", "responses", "302", "description"}, `"Found."`},
		"a client":                    {[]string{"paths", "/oauth/token", "post", "security"}, `[{"client_secret_basic":[]},{}]`},
		"its scheme":                  {[]string{"components", "securitySchemes", "client_secret_basic", "scheme"}, `"basic"`},
		"a token":                     {[]string{"components", "schemas", "grant", "required"}, `["access_token","scope","token_type"]`},
		"a form":                      {[]string{"paths", "/oauth/token", "post", "requestBody", "content", "application/x-www-form-urlencoded", "schema", "$ref"}, `"#/components/schemas/tokenRequestRequest"`},
		"what a form must have":       {[]string{"components", "schemas", "tokenRequestRequest", "required"}, `["grant_type"]`},
		"a secret in the form":        {[]string{"components", "schemas", "tokenRequestRequest", "properties", "client_secret"}, `{"type":"string"}`},
		"a secret to introspect":      {[]string{"components", "schemas", "aboutTokenRequest", "properties", "client_secret"}, `{"type":"string"}`},
		"an error of OAuth":           {[]string{"components", "schemas", "refusalBody", "required"}, `["error"]`},
		"where the error of OAuth is": {[]string{"paths", "/oauth/token", "post", "responses", "400", "content", "application/json", "schema", "$ref"}, `"#/components/schemas/refusalBody"`},
	} {
		got := at(t, d, test.path...)
		if test.want == "" {
			if enum := got.([]any)[0]; cmp.Diff(decoded(t, state), enum) != "" {
				t.Errorf("%s: %v", name, enum)
			}
			continue
		}
		if diff := cmp.Diff(decoded(t, test.want), got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	post := at(t, d, "paths", "/invoices", "post", "responses").(map[string]any)
	if _, ok := post["200"]; ok {
		t.Error("a 201 is a 200, too")
	}
	t.Run("P34", func(t *testing.T) {
		if _, err := adopted(t, nil, signing.Policy{}); err == nil || !strings.Contains(err.Error(), "Guard.Scopes rejects an _id such as 42") {
			t.Error(err)
		}
	})
}

// TestWhatAServerForVersion2Describes has no client that sends its secret.
func TestWhatAServerForVersion2Describes(t *testing.T) {
	document, err := adopted(t, &scope.Grammar{Identifier: sqlpage.Digits}, signing.Policy{Version: 2})
	if err != nil {
		t.Fatal(err)
	}
	text, err := document.JSON()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "client_secret") {
		t.Error("a secret is described")
	}
	d := decoded(t, string(text))
	if got := at(t, d, "paths", "/oauth/token", "post", "security"); cmp.Diff([]any{}, got) != "" {
		t.Error(got)
	}
	for _, form := range []string{"signedTokenRequestRequest", "signedAboutTokenRequest"} {
		at(t, d, "components", "schemas", form, "properties", "client_assertion")
	}
}

// TestEmbeddedAsRead says that a request has the members that body.Read reads.
func TestEmbeddedAsRead(t *testing.T) {
	type Base struct {
		Text string `json:"text"`
		Size int64  `json:"size,string"`
	}
	type in struct {
		*Base
		Text *string `json:"text"`
		X    string  `json:"x"`
	}
	mux := newMux()
	handle(mux, "POST /notes", auth.Public)
	d := described(t, mux, map[string]openapi.Route{"POST /notes": {Request: in{}}})
	got := at(t, d, "components", "schemas", "inRequest")
	want := `{"type":"object","required":["x"],"properties":{"text":{"type":["string","null"]},"x":{"type":"string"},"size":{"type":"integer","format":"int64"}}}`
	if diff := cmp.Diff(decoded(t, want), got); diff != "" {
		t.Error(diff)
	}
}

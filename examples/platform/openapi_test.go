package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestTheDocumentHasEveryRoute(t *testing.T) {
	t.Parallel()
	p := parts(t, io.Discard)
	mux := p.routes()
	text, err := p.document.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Paths map[string]map[string]struct {
			Summary   string
			Responses map[string]struct {
				Content map[string]struct{ Schema map[string]any }
			}
			RequestBody *struct{}
		}
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	bodiless := regexp.MustCompile(`^(GET|DELETE) |/(logout|second-factor|execute|activate|deactivate|resend|enter)$`)
	count := 0
	for _, operations := range document.Paths {
		count += len(operations)
	}
	for _, route := range mux.Routes() {
		method, path, _ := strings.Cut(route.Pattern, " ")
		o, ok := document.Paths[strings.ReplaceAll(path, "...}", "}")][strings.ToLower(method)]
		if !ok || o.Summary == "" || o.Summary == route.Pattern {
			t.Errorf("%s is not described", route.Pattern)
		}
		count--
		for _, content := range o.Responses["200"].Content {
			if len(content.Schema) == 0 {
				t.Errorf("%s has a reply without a type", route.Pattern)
			}
		}
		if o.RequestBody == nil && !bodiless.MatchString(route.Pattern) {
			t.Errorf("%s has a body without a type", route.Pattern)
		}
	}
	if count != 0 {
		t.Errorf("%d operations more than routes", count)
	}
	if bytes.Contains(text, []byte("c_secret")) {
		t.Error("a hidden property is described")
	}
}

func TestTheDocumentIsServed(t *testing.T) {
	t.Parallel()
	s := start(t)
	outside := s.consoleCall(t, http.MethodGet, "/openapi.json", nil)
	within := s.consoleCall(t, http.MethodGet, "/"+s.Org+"/v2/openapi.json", nil)
	for place, got := range map[string]answer{"outside of the orgs": outside, "below an org": within} {
		if got.status != 200 || got.header.Get("Content-Type") != "application/json; charset=utf-8" || got.text != outside.text {
			t.Errorf("%s: %d %v", place, got.status, got.header)
		}
	}
	known := http.Header{"If-None-Match": {outside.header.Get("ETag")}}
	if again := s.consoleCall(t, http.MethodGet, "/openapi.json", known); again.status != http.StatusNotModified {
		t.Errorf("asked for again: %d", again.status)
	}
	post := s.consoleCall(t, http.MethodPost, "/openapi.json", nil)
	s.refused(t, post, http.StatusMethodNotAllowed, "invalidArgument.method")
	if !strings.Contains(outside.text, `"url":"`+s.BaseURL+`/{org}/v2"`) {
		t.Error("another server is described")
	}
}

// TestTheDocumentTellsTheTruth compares replies of the server with the schemas that
// the document has for them.
func TestTheDocumentTellsTheTruth(t *testing.T) {
	t.Parallel()
	s := start(t)
	document := value{}
	if err := json.Unmarshal([]byte(s.consoleCall(t, http.MethodGet, "/openapi.json", nil).text), &document); err != nil {
		t.Fatal(err)
	}
	at := func(v any, names ...string) any {
		for _, name := range names {
			o, _ := v.(value)
			v = o[name]
		}
		return v
	}
	var wrong func(schema value, v any, path string) string
	wrong = func(schema value, v any, path string) string {
		if ref, ok := schema["$ref"].(string); ok {
			schema, _ = at(document, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...).(value)
		}
		if any, ok := schema["anyOf"].([]any); ok {
			first := ""
			for _, one := range any {
				if first = wrong(one.(value), v, path); first == "" {
					return ""
				}
			}
			return first
		}
		kinds, several := schema["type"].([]any)
		if kind, ok := schema["type"].(string); ok && !several {
			kinds = []any{kind}
		}
		if kinds == nil {
			return ""
		}
		kind := "null"
		switch v := v.(type) {
		case string:
			kind = "string"
		case bool:
			kind = "boolean"
		case float64:
			if kind = "number"; slices.Contains(kinds, "integer") && v == float64(int64(v)) {
				kind = "integer"
			}
		case []any:
			kind = "array"
			items, _ := schema["items"].(value)
			for _, item := range v {
				if text := wrong(items, item, path+"[]"); text != "" {
					return text
				}
			}
		case value:
			kind = "object"
			properties, _ := schema["properties"].(value)
			for _, name := range schemaList(schema["required"]) {
				if _, ok := v[name]; !ok {
					return path + " lacks " + name
				}
			}
			for name, inner := range v {
				own, ok := properties[name].(value)
				if !ok && schema["additionalProperties"] == nil {
					return path + " has " + name
				}
				if text := wrong(own, inner, path+"."+name); text != "" {
					return text
				}
			}
		}
		if !slices.Contains(kinds, any(kind)) {
			return path + " is a " + kind
		}
		return ""
	}
	for _, path := range []string{"/accounts/me", "/schemas", "/apps", "/apps/{key}", "/admin/roles", "/admin/settings",
		"/admin/accounts", "/admin/accounts/{id}", "/routes", "/views", "/auth/certs/jwk", "/c_messages", "/c_conversations", "/connections", "/accounts/status",
		"/views/{name}", "/c_messages/{id}/{path}", "/c_conversations/{id}/{path}"} {
		t.Run(path, func(t *testing.T) {
			query := map[string]string{
				"/c_messages":      "?paths[]=c_text&paths[]=c_meta.lang&paths[]=c_likes&paths[]=c_sent&limit=50",
				"/c_conversations": "?paths[]=c_messages.c_text&paths[]=c_title",
				"/views/{name}":    "?paths[]=c_text",
			}[path]
			sent := strings.NewReplacer("{key}", s.ClientKey, "{name}", "messages", "/accounts/{id}", "/accounts/"+s.AccountID, "c_messages/{id}/{path}", "c_messages/"+message1+"/c_text",
				"c_conversations/{id}/{path}", "c_conversations/"+demoID(acme, "c_conversation", 2)+"/c_messages").Replace(path)
			got := s.do(t, call{path: sent + query, account: s.AdminAccountID})
			for _, content := range at(document, "paths", path, "get", "responses", "200", "content").(value) {
				var v any
				if err := json.Unmarshal([]byte(got.text), &v); err != nil || got.status != 200 {
					t.Fatalf("%d %s", got.status, got.text)
				}
				if text := wrong(at(content, "schema").(value), v, ""); text != "" {
					t.Error(text)
				}
			}
		})
	}
}

func schemaList(v any) (all []string) {
	names, _ := v.([]any)
	for _, name := range names {
		all = append(all, name.(string))
	}
	return all
}

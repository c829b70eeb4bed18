package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/examples/internal/explain"
	"github.com/tenantkit/tenantkit/scope"
)

// ask sends a question to the scope tester.
func (s *server) ask(t *testing.T, method, contentType, body string) answer {
	t.Helper()
	return s.question(t, method, "/console/scope", contentType, body)
}

// question sends a body to a path outside of the orgs, without a credential.
func (s *server) question(t *testing.T, method, path, contentType, body string) answer {
	t.Helper()
	r, err := http.NewRequest(method, s.BaseURL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", contentType)
	return send(t, r)
}

func question(t *testing.T, need string, grants ...string) string {
	t.Helper()
	body, err := json.Marshal(value{"grants": grants, "need": need})
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestScopeTester(t *testing.T) {
	t.Parallel()
	s := startEmpty(t)
	for name, test := range map[string]struct {
		need   string
		grants []string
		want   scopeReply
	}{
		"the chain that allows is named, with its place": {
			"object.read.c_message.*.c_text", []string{"admin.read", "object.read.c_message"},
			scopeReply{Part: true, Source: "grant 2", Decision: explain.Decision{Allowed: true, Chain: "object.read.c_message", Why: "The chain covers the whole need."}},
		},
		"everything is the empty chain": {
			"admin.update", []string{""},
			scopeReply{Part: true, Source: "grant 1", Decision: explain.Decision{Allowed: true, Chain: "*", Why: "The chain covers the whole need."}},
		},
		"no chain at all grants nothing": {
			"admin.update", []string{},
			scopeReply{Decision: explain.Decision{Why: "No chain could match anything."}},
		},
		"one instance of all that are asked for": {
			"object.read.c_message.*.c_text", []string{"object.read.c_message." + nobody},
			scopeReply{Part: true, Source: "grant 1", Decision: explain.Decision{Chain: "object.read.c_message." + nobody, Segment: 4, Why: `The need asks for all there are, and not for "` + nobody + `" alone.`}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got struct{ Data scopeReply }
			reply := s.ask(t, http.MethodPost, "application/json", question(t, test.need, test.grants...))
			reply.ok(t)
			if err := json.Unmarshal([]byte(reply.text), &got); err != nil {
				t.Fatal(err)
			}
			test.want.Need, test.want.Warnings = test.need, []scopeWarning{}
			if diff := cmp.Diff(test.want, got.Data); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestScopeTesterWarns(t *testing.T) {
	t.Parallel()
	s := startEmpty(t)
	body := question(t, "admin.read", "object.read.c_message", "object.create.c_message."+nobody, "room.open")
	data := s.ask(t, http.MethodPost, "application/json", body).ok(t)["data"].(value)
	var sources []string
	for _, warning := range data["warnings"].([]any) {
		sources = append(sources, warning.(value)["source"].(string))
	}
	if diff := cmp.Diff([]string{"grant 2", "grant 3"}, sources); diff != "" {
		t.Errorf("grants that grant nothing (-want +got):\n%s", diff)
	}
}

func TestScopeTesterRefuses(t *testing.T) {
	t.Parallel()
	s := startEmpty(t)
	many := question(t, "admin.read", slices.Repeat([]string{"admin"}, maxGrants+1)...)
	for name, test := range map[string]struct {
		method, contentType, body string
		status                    int
		detail                    string
		paths                     []string
	}{
		"another method":      {"GET", "application/json", "", 405, "invalidArgument.method", nil},
		"a form":              {"POST", "text/plain", "{}", 415, "unsupportedMediaType.unspecified", nil},
		"a body over 16 KiB":  {"POST", "application/json", `{"need":"` + strings.Repeat("a", maxQuestion) + `"}`, 413, "tooLarge.unspecified", nil},
		"too many grants":     {"POST", "application/json", many, 400, "invalidArgument.body", nil},
		"an unknown field":    {"POST", "application/json", `{"needs":"admin"}`, 400, "invalidArgument.body", []string{"needs"}},
		"grants in one text":  {"POST", "application/json", `{"grants":"admin","need":"admin"}`, 400, "invalidArgument.body", []string{"grants"}},
		"a null among grants": {"POST", "application/json", `{"grants":[null],"need":"admin"}`, 400, "invalidArgument.body", []string{"grants"}},
		"no need":             {"POST", "application/json", `{"grants":["admin"]}`, 400, "invalidArgument.authScope", []string{"need"}},
		"what does not parse": {"POST", "application/json", `{"grants":["admin","Admin.read","object.eat"],"need":"object..x"}`,
			400, "invalidArgument.authScope", []string{"grants[1]", "grants[2]", "need"}},
	} {
		t.Run(name, func(t *testing.T) {
			fault := s.refused(t, s.ask(t, test.method, test.contentType, test.body), test.status, test.detail)
			found := children(fault)
			for _, path := range test.paths {
				if found[path] == "" {
					t.Errorf("%s: no reason, in %v", path, found)
				}
			}
			if test.paths != nil && len(found) != len(test.paths) {
				t.Errorf("reasons for %v, want %v", found, test.paths)
			}
		})
	}
}

// FuzzExplain compares the tester with the library's decision for any chains.
func FuzzExplain(f *testing.F) {
	f.Add("object.read.c_message", "object.read.c_message.*.c_text", "admin.read")
	f.Add("object.read.c_a#c_b", "object.read.c_a", "")
	f.Add("script.*.x", "script.route.x", "*")
	f.Fuzz(func(t *testing.T, first, need, second string) {
		asked, err := scope.ParseNeed(need)
		if err != nil {
			return
		}
		var wrong invalid
		set, warnings := compileGrants([]string{first, second}, &wrong)
		whole, err := scope.Compile("whole", first, second)
		if (err != nil) != (wrong.orNil() != nil) {
			t.Fatalf("%q %q: %v, and the tester says %v", first, second, err, wrong.orNil())
		}
		got := replyOn(set, asked, warnings)
		if got.Allowed != whole.Allows(asked) || got.Part != whole.Overlaps(asked) {
			t.Errorf("%q %q need %q: %+v", first, second, need, got)
		}
		if got.Why == "" || (got.Segment > 0) == (got.Allowed || got.Chain == "") {
			t.Errorf("no reason: %+v", got)
		}
		if text, err := json.Marshal(got); err != nil || !bytes.Contains(text, []byte(`"warnings":[`)) {
			t.Errorf("%s %v", text, err)
		}
	})
}

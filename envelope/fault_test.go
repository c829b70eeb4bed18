package envelope_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/envelope"
)

func TestFaultEncode(t *testing.T) {
	tests := map[string]struct {
		fault     envelope.Fault
		namespace string
		want      string
	}{
		"all fields": {
			envelope.Fault{
				Detail: "accessDenied.scope", Code: "kAccessDenied", Status: 403,
				Message: "Missing a required token scope.",
				Reason:  "object.read.c_message", Path: "connections.where",
			},
			"service",
			`{"object":"fault","name":"error","code":"kAccessDenied","errCode":"service.accessDenied.scope",` +
				`"status":403,"message":"Missing a required token scope.","reason":"object.read.c_message",` +
				`"path":"connections.where","faults":[]}`,
		},
		"another namespace reaches the children": {
			envelope.Fault{
				Detail: "invalidArgument.query", Code: "kInvalidArgument", Status: 400, Message: "m",
				Faults: []*envelope.Fault{nil, {Detail: "invalidArgument.query", Path: "limit"}},
			},
			"acme",
			`{"object":"fault","name":"error","code":"kInvalidArgument","errCode":"acme.invalidArgument.query",` +
				`"status":400,"message":"m","faults":[{"object":"fault","name":"error","code":"",` +
				`"errCode":"acme.invalidArgument.query","status":0,"message":"","path":"limit","faults":[]}]}`,
		},
		"no namespace is the default one": {
			envelope.Fault{Detail: "notFound.env"}, "",
			`{"object":"fault","name":"error","code":"","errCode":"service.notFound.env",` +
				`"status":0,"message":"","faults":[]}`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, string(tc.fault.Encode(tc.namespace))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFaultMarshalsBelowTheDefaultNamespace(t *testing.T) {
	f := &envelope.Fault{Detail: "notFound.app", Code: "kNotFound", Status: 404, Message: "Not found."}
	got, err := json.Marshal(map[string]any{"loggedin": false, "fault": f})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"fault":` + string(f.Encode("service")) + `,"loggedin":false}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestFaultNamespaceIsSplitOff(t *testing.T) {
	tests := map[string]string{
		"service.accessDenied.scope": "accessDenied.scope",
		"my-platform.expired.jwt":    "expired.jwt",
		"cortex.a.b.c":               "a.b.c",
		"error":                      "error",
		"":                           "",
	}
	for code, want := range tests {
		var f envelope.Fault
		if err := json.Unmarshal([]byte(`{"object":"fault","errCode":"`+code+`"}`), &f); err != nil {
			t.Fatal(err)
		}
		if f.Detail != want {
			t.Errorf("%q: got %q, want %q", code, f.Detail, want)
		}
	}
}

func TestFaultText(t *testing.T) {
	child := func(path, reason string) *envelope.Fault {
		return &envelope.Fault{Detail: "invalidArgument.query", Path: path, Reason: reason, Message: "Invalid."}
	}
	tests := map[string]struct {
		fault envelope.Fault
		want  string
	}{
		"a message": {
			envelope.Fault{Detail: "notFound.env", Status: 404, Message: "Not found."},
			"fault 404 notFound.env: Not found.",
		},
		"a reason stands for the message": {
			envelope.Fault{Detail: "accessDenied.scope", Status: 403, Message: "Missing.", Reason: "object.read.c_a"},
			"fault 403 accessDenied.scope: object.read.c_a",
		},
		"children": {
			envelope.Fault{
				Detail: "invalidArgument.query", Status: 400, Message: "Invalid query.",
				Faults: []*envelope.Fault{child("limit", "not a number"), nil, child("where", ""), child("a", "b"), child("c", "d")},
			},
			"fault 400 invalidArgument.query: Invalid query; at limit: not a number; at where: Invalid; and 2 more",
		},
		"nothing": {envelope.Fault{}, "fault 0 "},
		"lines and escapes of a hostile server": {
			envelope.Fault{Detail: "a\nb", Status: 400, Path: "\x1b[2J", Message: strings.Repeat("é", 500)},
			`fault 400 a\nb at \x1b[2J: ` + strings.Repeat("é", 100),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.fault.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

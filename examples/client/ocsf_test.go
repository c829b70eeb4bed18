package main

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/audit"
)

// TestOCSF has a JSON Schema validator of another language check events of all verbs.
func TestOCSF(t *testing.T) {
	check := exec.Command("python3", "-c", `
import json, sys, jsonschema
v = jsonschema.Draft202012Validator(json.load(open("testdata/ocsf.schema.json")), format_checker=jsonschema.FormatChecker())
n = 0
for line in sys.stdin:
    n += 1
    for e in v.iter_errors(json.loads(line)):
        print(line, e.message, list(e.path))
print(n, "lines")`)
	began := time.Now()
	full := audit.Entry{Mail: "ann@acme.example", Event: auth.Event{Time: began, Actor: "ada", Account: "ann", App: "app", Credential: "key", Token: "token",
		Session: "session", By: "session:x", Reason: "reason", Count: 3, Detail: "detail", Route: "GET /", Request: "request",
		Address: netip.MustParseAddr("192.0.2.1"), Agent: "agent"}}
	var lines []string
	for i, verb := range auth.Verbs() {
		for _, e := range []audit.Entry{full, {Event: auth.Event{Time: began}}, {Event: auth.Event{Time: began, Address: netip.MustParseAddr("2001:db8::1")}}} {
			e.Verb, e.Org, e.N = verb, "acme", int64(i+1)
			text, err := ocsf(&e)
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, string(text))
		}
	}
	lines = append(lines, `{"class_uid":3002}`) // which the validator must refuse
	check.Stdin = strings.NewReader(strings.Join(lines, "\n"))
	out, err := check.CombinedOutput()
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("%v\n%s", err, out)
		}
		t.Skipf("without python3-jsonschema: %v\n%s", err, out)
	}
	reported := strings.Split(strings.TrimSpace(string(out)), "\n")
	for _, line := range reported[:len(reported)-1] {
		if !strings.HasPrefix(line, `{"class_uid":3002}`) && line != "" && strings.HasPrefix(line, "{") {
			t.Error(line)
		}
	}
	if len(reported) < 2 || reported[len(reported)-1] != fmt.Sprint(len(lines), " lines") {
		t.Errorf("%s", out)
	}
}

// Package heard shows the verbs of observed events as lines. Tests use it to say what an observer must hear.
package heard

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/auth"
)

// Request is the id that RequestID gives every request.
const Request = "request-1"

// RequestID is for auth.Guard.RequestID.
func RequestID(*http.Request) string { return Request }

// Verbs returns a line for each verb among events:
//
//	verb (reason) ×count org/account by actor with kind:id, app A, credential #1, token #2, session #3
//
// Generated ids are numbered, in the order of their appearance. It fails the test if an event lacks what each
// must have: org, address, route, request id, time, and the agent if the test's client has one.
func Verbs(t testing.TB, events []auth.Event, agent string) (lines []string) {
	t.Helper()
	ids := map[string]string{}
	number := func(id string) string {
		if id != "" && ids[id] == "" {
			ids[id] = fmt.Sprintf("#%d", len(ids)+1)
		}
		return ids[id]
	}
	for _, e := range events {
		if e.Verb == "" {
			continue
		}
		if e.Org == "" || !e.Address.IsValid() || e.Route == "" || e.Request != Request || e.Time.IsZero() || e.Agent != agent {
			t.Errorf("%s lacks something: %+v", e.Verb, e)
		}
		line, by := e.Verb, e.By
		if kind, id, ok := strings.Cut(by, ":"); ok && kind != "app" {
			by = kind + ":" + number(id)
		}
		for _, part := range []struct{ before, value, after string }{
			{" (", e.Reason, ")"}, {" ×", strings.TrimPrefix(fmt.Sprint(e.Count), "0"), ""}, {" ", string(e.Org) + "/" + e.Account, ""},
			{" by ", e.Actor, ""}, {" with ", by, ""}, {", app ", e.App, ""},
			{", credential ", number(e.Credential), ""}, {", token ", number(e.Token), ""}, {", session ", number(e.Session), ""},
		} {
			if part.value != "" {
				line += part.before + part.value + part.after
			}
		}
		lines = append(lines, line)
	}
	return lines
}

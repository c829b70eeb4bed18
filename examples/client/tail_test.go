package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/envelope"
)

const (
	allowedRoute = `{"object":"event","at":"2026-11-22T21:00:00.123Z","requestId":"r1","route":"GET /c_messages/{id}",` +
		`"mechanism":"signature","app":"app1","account":"ann","allowed":true,"took":182}`
	deniedRoute = `{"object":"event","at":"2026-11-22T21:00:01.000Z","requestId":"r2","mechanism":"token",` +
		`"allowed":false,"fault":"service.accessDenied.scope","took":1500}`
	sessionOver = `{"object":"fault","errCode":"service.accessDenied.sessionExpired","status":401,"message":"Sign in again."}`
)

func eventOf(name, data string) string { return "event: " + name + "\ndata: " + data + "\n\n" }

// answer is what a server says to one connection.
type answer struct {
	status int // 0: 200, as a stream
	kind   string
	body   string
	stays  bool // the connection stays open
	breaks bool // in the middle of the body
}

// streams is a server that gives one answer after the other, each to a signed request.
// It returns the environment for the client.
func streams(t *testing.T, answers ...answer) (environmentLines string) {
	t.Helper()
	var mu sync.Mutex
	nonces := make(map[string]bool)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		a, nonce := answers[min(len(nonces), len(answers)-1)], r.Header.Get("Service-Client-Nonce")
		if !correctlySigned(r, "Service-") || nonces[nonce] || len(nonces) == len(answers) || r.URL.Path != "/acme/v2/events" {
			t.Errorf("request %d: %s %s %v", len(nonces)+1, r.Method, r.URL, r.Header)
		}
		nonces[nonce] = true
		mu.Unlock()
		if a.status == 0 {
			a.status, a.kind = http.StatusOK, "text/event-stream"
		}
		w.Header().Set("Content-Type", a.kind)
		w.Header().Set("Request-Id", "req7")
		w.WriteHeader(a.status)
		io.WriteString(w, a.body)
		_ = http.NewResponseController(w).Flush()
		if a.breaks {
			panic(http.ErrAbortHandler)
		}
		if a.stays {
			<-r.Context().Done()
		}
	}))
	t.Cleanup(server.Close)
	return environment(server.URL)
}

// over ends a stream for good.
var over = eventOf("end", sessionOver)

func TestTail(t *testing.T) {
	body := ":\n\n" + eventOf("event", allowedRoute) + ":\n\n" + eventOf("dropped", `{"count":12}`) +
		eventOf("later", `"a kind of event that this client does not know"`) + eventOf("event", deniedRoute) + over
	wantEnd := func(t *testing.T, err error) {
		t.Helper()
		fault, ok := errors.AsType[*envelope.Fault](err)
		if !ok || fault.Status != 401 || !strings.Contains(err.Error(), "the server has ended the stream") ||
			!strings.Contains(err.Error(), "(request req7)") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v", err)
		}
	}
	t.Run("on a pipe", func(t *testing.T) {
		out, errs, err := client(t, "", streams(t, answer{body: body}), "tail")
		wantEnd(t, err)
		if diff := cmp.Diff(allowedRoute+"\n"+deniedRoute+"\n", out); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if want := "client: 12 decisions were dropped, because they came faster than they were read\n"; errs != want {
			t.Errorf("%q", errs)
		}
	})
	tailOnScreen := func(t *testing.T, body string, args ...string) (string, error) {
		var out bytes.Buffer
		c := cli{out: &out, errs: io.Discard, screen: true, getenv: lookup(streams(t, answer{body: body}) + "\nNO_COLOR=1")}
		err := c.run(t.Context(), append([]string{"tail"}, args...))
		return out.String(), err
	}
	t.Run("on a terminal", func(t *testing.T) {
		out, err := tailOnScreen(t, body)
		wantEnd(t, err)
		var got [][]string
		for line := range strings.Lines(out) {
			got = append(got, strings.Fields(line))
		}
		want := [][]string{
			strings.Fields("Time Decision Method Route By Who Took Request"),
			strings.Fields("2026-11-22T21:00:00.123Z allowed GET /c_messages/{id} signature ann 182µs r1"),
			strings.Fields("2026-11-22T21:00:01.000Z service.accessDenied.scope - - token - 1.5ms r2"),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("with --json on a terminal", func(t *testing.T) {
		out, err := tailOnScreen(t, body, "--json")
		if out != allowedRoute+"\n"+deniedRoute+"\n" || !errors.As(err, new(*rejectedJSON)) {
			t.Errorf("%v %q", err, out)
		}
	})
	t.Run("hostile texts do not reach a terminal", func(t *testing.T) {
		for _, text := range []string{"\u202emoc", "\u009b31m", `\u001b[2J`, `\n\n`, "a\u200bb", "\U000e0041", strings.Repeat("w", maxEvent/2)} {
			event := fmt.Sprintf(`{"at":"%[1]s","requestId":"%[1]s","route":"%[1]s %[1]s","mechanism":"%[1]s","account":"%[1]s","fault":"%[1]s"}`, text)
			if len(event) > maxEvent {
				event = fmt.Sprintf(`{"account":"%s"}`, text)
			}
			out, err := tailOnScreen(t, eventOf("event", event)+over)
			wantEnd(t, err)
			lines := strings.SplitAfter(out, "\n")
			if len(lines) != 3 || strings.ContainsFunc(strings.ReplaceAll(out, "\n", ""), hidden) {
				t.Errorf("%.1000q", out)
			}
			if n := utf8.RuneCountInString(lines[1]); n > 8*(cellWidth+2) {
				t.Errorf("a line of %d characters", n)
			}
		}
	})
}

func TestTailFilters(t *testing.T) {
	a := `{"requestId":"r1","route":"GET /c_messages/{id}","mechanism":"signature","app":"app1","account":"ann","allowed":true,"need":"object.read.c_message.*","chain":"object.read"}`
	b := `{"requestId":"r2","route":"POST /apps","mechanism":"bearer","account":"bob","allowed":false,"fault":"service.accessDenied.scope"}`
	c := `{"requestId":"r3","allowed":false,"fault":"service.notFound.unspecified"}`
	for _, test := range []struct {
		name string
		args []string
		want []string
	}{
		{"nothing selects all", nil, []string{a, b, c}},
		{"refused", []string{"--refused"}, []string{b, c}},
		{"allowed", []string{"--allowed"}, []string{a}},
		{"a word of the route", []string{"/apps"}, []string{b}},
		{"a method and a route in other letters", []string{"get /C_messages"}, []string{a}},
		{"a word of the mechanism", []string{"BEARER"}, []string{b}},
		{"a word of the need", []string{"object.read.c_message"}, []string{a}},
		{"the id of a request", []string{"r3"}, []string{c}},
		{"two words", []string{"service.", "bob"}, []string{b}},
		{"a flag behind a word", []string{"ann", "--refused"}, nil},
		{"a word that nothing has", []string{"allowed"}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			env := streams(t, answer{body: eventOf("event", a) + eventOf("event", b) + eventOf("dropped", `{"count":1}`) + eventOf("event", c) + over})
			out, errs, _ := client(t, "", env, append([]string{"tail"}, test.args...)...)
			if diff := cmp.Diff(test.want, strings.Split(strings.TrimSuffix(out, "\n"), "\n")); diff != "" && out+strings.Join(test.want, "") != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !strings.Contains(errs, "1 decisions were dropped") {
				t.Errorf("%s", errs)
			}
		})
	}
	if _, _, err := client(t, "", environment("http://127.0.0.1:1"), "tail", "--refused", "--allowed"); !errors.As(err, new(usageError)) {
		t.Errorf("both: %v", err)
	}
}

func TestTailConnectsAgain(t *testing.T) {
	fault := `{"object":"fault","errCode":"service.unavailable.unspecified","status":503,"message":"Later\u001b[2J."}`
	env := streams(t,
		answer{body: eventOf("event", allowedRoute) + "event: event\ndata: {\"cut", breaks: true},
		answer{status: 503, kind: "application/json", body: fault},
		answer{body: eventOf("event", deniedRoute)},
		answer{status: 403, kind: "application/json", body: strings.Replace(sessionOver, "401", "403", 1)},
	)
	out, errs, err := client(t, "", env, "tail")
	if out != allowedRoute+"\n"+deniedRoute+"\n" {
		t.Errorf("%s", out)
	}
	for i, want := range []string{"unexpected EOF", `fault 503 unavailable.unspecified: Later\x1b[2J.`, "the server has closed the connection"} {
		line, rest, _ := strings.Cut(errs, "\n")
		if errs = rest; !strings.Contains(line, want) || !strings.Contains(line, "; connecting again, ") {
			t.Errorf("line %d: %q, want %q", i, line, want)
		}
	}
	if fault, ok := errors.AsType[*envelope.Fault](err); errs != "" || !ok || fault.Status != 403 {
		t.Errorf("%v, and on standard error %q", err, errs)
	}
}

func TestTailEnds(t *testing.T) {
	refusal := func(status int) answer {
		return answer{status: status, kind: "application/json", body: strings.Replace(sessionOver, "401", fmt.Sprint(status), 1)}
	}
	for _, test := range []struct {
		name   string
		answer answer
		want   string
	}{
		{"a refused signature", refusal(401), "GET /acme/v2/events: fault 401 accessDenied.sessionExpired: Sign in again. (request req7)"},
		{"no administrator", refusal(403), "fault 403"},
		{"too many readers", refusal(429), "fault 429"},
		{"a server without the route", refusal(404), "fault 404"},
		{"no server behind a proxy, at first", answer{status: 502, kind: "text/html", body: "<h1>"}, "502 Bad Gateway: the reply is no stream of events"},
		{"something else at the path", answer{status: 200, kind: "text/html", body: "<h1>"}, "200 OK: the reply is no stream of events"},
		{"an event without an end", answer{body: "data: " + strings.Repeat("x", 2*maxEvent), stays: true}, "an event of more than 65536 bytes"},
		{"a line without an end", answer{body: strings.Repeat("x", 2*maxEvent), stays: true}, "an event of more than 65536 bytes"},
		{"a decision that is no JSON", answer{body: eventOf("event", `{"a":`), stays: true}, "unexpected end of JSON"},
		{"a count that is none", answer{body: eventOf("dropped", `{"count":"\u001b[2J"}`), stays: true}, "a count of dropped decisions"},
		{"an end without a fault", answer{body: eventOf("end", "null"), stays: true}, "the server has ended the stream"},
	} {
		t.Run(test.name, func(t *testing.T) {
			out, errs, err := client(t, "", streams(t, test.answer), "tail")
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.ContainsFunc(err.Error(), hidden) || out+errs != "" {
				t.Errorf("%v, printed %q and %q", err, out, errs)
			}
		})
	}
}

// writerFunc is an io.Writer.
type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestTailIsInterrupted(t *testing.T) {
	for _, test := range []struct {
		name   string
		answer answer
	}{
		{"while it reads", answer{body: eventOf("event", allowedRoute), stays: true}},
		{"while it waits to connect again", answer{body: ":\n\n"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			var printed bytes.Buffer
			atFirst := writerFunc(func(p []byte) (int, error) { interrupt(); return printed.Write(p) })
			c := cli{out: atFirst, errs: atFirst, getenv: lookup(streams(t, test.answer))}
			if status := c.status(c.run(ctx, []string{"tail"})); status != 0 || strings.Count(printed.String(), "\n") != 1 {
				t.Errorf("status %d, printed %q", status, printed.String())
			}
		})
	}
}

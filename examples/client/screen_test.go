package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/envelope"
)

func TestColours(t *testing.T) {
	env := environment(service(t, "Service-"))
	plain, _, err := client(t, "", env, "get", "/echo")
	if err != nil || strings.Contains(plain, "\x1b") {
		t.Fatalf("%v %q", err, plain)
	}
	coloured := onScreen(t, env, "get", "/echo")
	if !strings.Contains(coloured, "\x1b[34m\"path\"\x1b[0m: \x1b[32m\"/acme/v2/echo\"\x1b[0m,") {
		t.Errorf("%q", coloured)
	}
	if without := regexp.MustCompile("\x1b\\[\\d+m").ReplaceAllString(coloured, ""); without != plain {
		t.Errorf("%s\nwant\n%s", without, plain)
	}
	for name, got := range map[string]string{
		"NO_COLOR": onScreen(t, env+"\nNO_COLOR=1", "get", "/echo"),
		"TERM":     onScreen(t, env+"\nTERM=dumb", "get", "/echo"),
		"--json":   onScreen(t, env, "get", "--json", "/echo"),
	} {
		if got != plain {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestTextsThatDeceive prints what a name may hold: nothing of it reaches a terminal.
func TestTextsThatDeceive(t *testing.T) {
	for _, text := range []string{"\u202emoc.elpmaxe", "a\u200bb", "\u009b31m", "\x7f", "\U000e0041", "\u2066x", "\ufeff", "a\u00a0b"} {
		body, err := json.Marshal(map[string]string{"name": text, text: "x"})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		c := cli{out: &out, screen: true, getenv: lookup("NO_COLOR=1")}
		if err := c.printJSON(body, false); err != nil {
			t.Fatal(err)
		}
		rows := table{c: c}
		if err := rows.add(body); err != nil {
			t.Fatal(err)
		}
		if err := rows.flush(); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String(), text) {
			t.Errorf("%+q is printed: %+q", text, out.String())
		}
		shown, _, _ := strings.Cut(out.String(), "}\n")
		var again map[string]string
		if err := json.Unmarshal([]byte(shown+"}"), &again); err != nil || again["name"] != text || again[text] != "x" {
			t.Errorf("%+q is another value: %v %v", text, again, err)
		}
	}
}

func FuzzPaintedJSON(f *testing.F) {
	f.Add(`{"a":{"b":[1,true,null,"x\"y\\",{}]},"c":""}`)
	f.Add("0\t")
	f.Add("\"a: \\u202e\u202e\"")
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) {
			return
		}
		var indented, want, got bytes.Buffer
		if json.Indent(&indented, []byte(text), "", "  ") != nil {
			return
		}
		painted := cli{getenv: lookup("NO_COLOR=1")}.paintedJSON(indented.String())
		for _, r := range painted {
			if hidden(r) && r != '\n' {
				t.Fatalf("%+q", painted)
			}
		}
		var before, after any
		if json.Unmarshal([]byte(text), &before) != nil {
			return
		}
		if err := json.Unmarshal([]byte(painted), &after); err != nil {
			t.Fatalf("%v: %s", err, painted)
		}
		if err := json.NewEncoder(&want).Encode(before); err != nil {
			return
		}
		if err := json.NewEncoder(&got).Encode(after); err != nil || want.String() != got.String() {
			t.Fatalf("%s becomes %s", want.String(), got.String())
		}
	})
}

func TestTable(t *testing.T) {
	var out bytes.Buffer
	rows := table{c: cli{out: &out, getenv: lookup("NO_COLOR=1")}}
	for _, text := range []string{
		`{"_id":"1","object":"c_a","name":"Ann","likes":3}`,
		`{"_id":"22","object":"c_a","name":"` + strings.Repeat("x", 70) + `","tags":["a","b"]}`,
		`{"_id":"3","object":"c_a","name":null}`,
	} {
		if err := rows.add([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := rows.flush(); err != nil {
		t.Fatal(err)
	}
	wide := strings.Repeat("x", 59) + "…"
	blank := func(n int) string { return strings.Repeat(" ", n) }
	want := "_id  name" + blank(58) + "likes  tags\n" +
		"1    Ann" + blank(59) + "3      \n" +
		"22   " + wide + blank(9) + "[\"a\",\"b\"]\n" +
		"3    null" + blank(65) + "\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestListOnAScreen(t *testing.T) {
	out := onScreen(t, new(listing).start(t)+"\nNO_COLOR=1", "list", "--all", "/notes")
	rows := strings.Split(strings.TrimSpace(out), "\n")
	const head = "_id   c_big             c_likes"
	if len(rows) != 253 || rows[0] != head || rows[101] != head || rows[2] != "0001  9007199254740993  1" {
		t.Errorf("%d lines, %q", len(rows), rows[:3])
	}
	if out := onScreen(t, new(listing).start(t), "list", "--all", "--json", "/notes"); out != lines(below(noteCount)) {
		t.Errorf("--json: %s", out)
	}
}

// TestVerbose looks at what -v prints: everything but the secrets.
func TestVerbose(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Request-Id", "REQUEST7")
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "aSessionId"})
		fmt.Fprint(w, `{}`)
	}))
	defer server.Close()
	for _, version := range []string{"1", "2"} {
		_, errs, err := client(t, "", environment(server.URL), "get", "-v", "--signature", version, "/echo")
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			"> GET " + server.URL + "/acme/v2/echo\n", "Signature: REDACTED\n", "< 200 OK, after ", "< Request-Id: REQUEST7\n", "< Set-Cookie: REDACTED\n",
		} {
			if !strings.Contains(errs, want) {
				t.Errorf("version %s: no %q in\n%s", version, want, errs)
			}
		}
		if strings.Contains(errs, "aSessionId") || regexp.MustCompile(`(?i)signature: [^R]`).MatchString(errs) {
			t.Errorf("version %s: a secret in\n%s", version, errs)
		}
	}
	if _, errs, err := client(t, "", environment(server.URL), "get", "/echo"); err != nil || errs != "" {
		t.Errorf("without -v: %v %s", err, errs)
	}
}

func TestFaults(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Request-Id", "REQUEST7")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"object":"fault","errCode":"service.accessDenied.scope","status":403,"message":"No.","reason":"object.read.c_a"}`)
	}))
	defer server.Close()
	for _, test := range []struct{ args, want string }{
		{"get /a", "client: GET /acme/v2/a: fault 403 accessDenied.scope: object.read.c_a is needed (request REQUEST7)\n"},
		{"mint ann", "client: POST /acme/v2/apps/" + key + "/tokens: fault 403 accessDenied.scope: object.read.c_a is needed (request REQUEST7)\n"},
	} {
		_, _, err := client(t, "", environment(server.URL), strings.Fields(test.args)...)
		var errs bytes.Buffer
		if status := (cli{errs: &errs}).status(err); status != 1 || errs.String() != test.want {
			t.Errorf("%d %q, want %q", status, errs.String(), test.want)
		}
	}
	for scope, want := range map[string]string{
		`[]`:                         ", nothing is held (request REQUEST7)",
		`["view","object.read.c_b"]`: ", held view object.read.c_b (request REQUEST7)",
		`["\u001b[2J"]`:              `, held \u001b[2J (request REQUEST7)`,
	} {
		holder := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/acme/v2/accounts/me" {
				w.Header().Set("Request-Id", "REQUEST8")
				fmt.Fprintf(w, `{"_id":"ann","object":"account","scope":%s}`, scope)
				return
			}
			server.Config.Handler.ServeHTTP(w, r)
		}))
		_, _, err := client(t, "", environment(holder.URL), "get", "/a")
		if !strings.HasSuffix(fmt.Sprint(err), "object.read.c_a is needed"+want) {
			t.Errorf("%s: %v", scope, err)
		}
		holder.Close()
	}
	_, _, err := client(t, "", environment(server.URL), "list", "/a")
	if text := fmt.Sprint(err); strings.Count(text, "403") != 1 || !strings.Contains(text, "is needed (request REQUEST7)") {
		t.Errorf("list: %s", text)
	}
	t.Run("as JSON", func(t *testing.T) {
		_, _, err := client(t, "", environment(server.URL), "get", "--json", "/a")
		var errs bytes.Buffer
		status := (cli{errs: &errs}).status(err)
		var fault envelope.Fault
		if decoded := json.Unmarshal(errs.Bytes(), &fault); status != 1 || decoded != nil || fault.Detail != "accessDenied.scope" {
			t.Errorf("%d %v %s", status, decoded, errs.String())
		}
	})
}

// TestServersThatDeceive gets control characters from a server where a command expects none.
func TestServersThatDeceive(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = http.ReadRequest(bufio.NewReader(conn))
			io.WriteString(conn, "HTTP/1.1 502 \x1b[2JFine\r\nRequest-Id: \u202ex\r\nConnection: close\r\n\r\nno JSON")
			conn.Close()
		}
	}()
	_, errs, err := client(t, "", environment("http://"+listener.Addr().String()), "get", "-v", "/a")
	if text := errs + fmt.Sprint(err); err == nil || !strings.Contains(text, "502") || strings.ContainsAny(text, "\x1b\u202e") {
		t.Errorf("%q", text)
	}
	token := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"object":"result","data":{"token":"a\u001b[2Jb"}}`)
	}))
	defer token.Close()
	if out := onScreen(t, environment(token.URL), "mint", "ann"); out != "a\\u001b[2Jb\n" {
		t.Errorf("%q", out)
	}
}

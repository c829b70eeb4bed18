package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/mempage"
)

// note is an item of the listing server. Likes repeat, and every third note has
// none.
type note struct{ n int }

func (n note) at(path string) (any, bool) {
	switch path {
	case "_id":
		return fmt.Sprintf("%04d", n.n), true
	case "object":
		return "c_note", true
	}
	return n.n % 10, path == "c_likes" && n.n%3 != 0
}

// text returns JSON that encoding/json would not write: with blanks, and with a
// number that float64 cannot hold.
func (n note) text() json.RawMessage {
	likes := ""
	if v, ok := n.at("c_likes"); ok {
		likes = fmt.Sprintf(`, "c_likes": %d`, v)
	}
	return json.RawMessage(fmt.Sprintf("{\n \"_id\": \"%04d\", \"object\": \"c_note\", \"c_big\": 9007199254740993%s }", n.n, likes))
}

func (n note) line() string {
	var line bytes.Buffer
	if err := json.Compact(&line, n.text()); err != nil {
		panic(err)
	}
	return line.String() + "\n"
}

const noteCount = 250

var (
	noteSchema = paging.Schema{Object: "c_note", Properties: []paging.Property{
		{Path: "c_likes", Type: paging.Integer, Filter: true, Sort: true, Null: true},
	}}
	bookSchema = paging.Schema{Object: "c_book", Properties: []paging.Property{{Path: "c_notes", List: &noteSchema}}}
)

// listing is a server with 250 notes at /notes and, as a list property, at
// /book. It answers the first busy requests as a busy server. It refuses all
// requests after the first failAfter, unless that is 0. A page has atLeast items
// or more, whatever its limit.
type listing struct {
	requests, failAfter, busy atomic.Int64
	atLeast                   int
	queries                   []string
}

func (l *listing) start(t *testing.T) (environmentLines string) {
	server := httptest.NewServer(http.HandlerFunc(l.serve))
	t.Cleanup(server.Close)
	return environment(server.URL)
}

func (l *listing) serve(w http.ResponseWriter, r *http.Request) {
	n := l.requests.Add(1)
	if most := l.failAfter.Load(); most > 0 && n > most || r.Header.Get("Service-Client-Signature") == "" {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"object":"fault","errCode":"service.expired.jwt","status":401}`)
		return
	}
	if l.busy.Add(-1) >= 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	l.queries = append(l.queries, r.URL.RawQuery)
	schema, nested := &noteSchema, strings.HasSuffix(r.URL.Path, "/book")
	if nested {
		schema = &bookSchema
	}
	q, err := schema.Parse(r.URL.RawQuery, func(string) bool { return true })
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		w.Write(err.(*paging.Error).Fault().Encode(""))
		return
	}
	if nested {
		q = q.Lists["c_notes"]
	}
	var notes []note
	for n := range noteCount {
		notes = append(notes, note{n})
	}
	q.Limit = max(q.Limit, l.atLeast)
	page, more := mempage.Page(notes, q, note.at)
	list := envelope.List[json.RawMessage]{HasMore: more}
	for _, n := range page {
		list.Data = append(list.Data, n.text())
	}
	if nested {
		auth.Reply(w, r, map[string]any{"_id": "b", "object": "c_book", "c_notes": list})
		return
	}
	auth.Reply(w, r, list)
}

// lines returns the printed lines of the notes for which keep is true.
func lines(keep func(n int) bool) string {
	var text strings.Builder
	for n := range noteCount {
		if keep(n) {
			text.WriteString(note{n}.line())
		}
	}
	return text.String()
}

func below(most int) func(int) bool { return func(n int) bool { return n < most } }

func TestList(t *testing.T) {
	for _, test := range []struct {
		name, args, want string
		requests         int64
	}{
		{"all", "--all /notes", lines(below(250)), 3},
		{"all, in small pages", "--all --limit 25 /notes", lines(below(250)), 10},
		{"all that a filter leaves", `--all --where {"c_likes":{"$in":[7,8]}} /notes`, lines(func(n int) bool { return n%3 != 0 && (n%10 == 7 || n%10 == 8) }), 1},
		{"the first ones", "/notes", lines(below(100)), 1},
		{"one page", "--limit 7 /notes", lines(below(7)), 1},
		{"so many", "--max 120 --limit 50 /notes", lines(below(120)), 3},
		{"all, but no more than so many", "--all --max 120 /notes", lines(below(120)), 2},
		{"from a position", "--all --resume 0199 /notes", lines(func(n int) bool { return n > 199 }), 1},
		{"arguments in the path", `--all /notes?where={"_id":{"$lt":"0003"}}`, lines(below(3)), 1},
		{"a list property", "--all --rest c_notes --limit 100 /book", lines(below(250)), 3},
		{"the beginning of a list property", "--max 3 --rest c_notes /book", lines(below(3)), 1},
		{"more of a list property than a page", "--max 30 --limit 20 --rest c_notes /book", lines(below(30)), 2},
		{"a list property, from a position", "--all --rest c_notes --resume 0199 /book", lines(func(n int) bool { return n > 199 }), 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := new(listing)
			out, errs, err := client(t, "", l.start(t), append([]string{"list"}, strings.Fields(test.args)...)...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, out); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if n := l.requests.Load(); n != test.requests {
				t.Errorf("%d requests, want %d: %q", n, test.requests, l.queries)
			}
			if told := strings.Contains(errs, "the first 100 items"); told != (test.args == "/notes") || strings.Contains(errs, "\x1b") {
				t.Errorf("standard error: %q", errs)
			}
		})
	}
}

// TestListOfAGenerousServer prints no more than --max, even if the server sends
// more.
func TestListOfAGenerousServer(t *testing.T) {
	for _, args := range []string{
		"--max 3 /notes", "--max 3 --rest c_notes /book", "--max 3 --sort c_likes --rest c_notes /book",
		"--max 3 --resume 0199 --rest c_notes /book",
	} {
		l := &listing{atLeast: 20}
		out, _, err := client(t, "", l.start(t), append([]string{"list"}, strings.Fields(args)...)...)
		if n := strings.Count(out, "\n"); n != 3 || err != nil {
			t.Errorf("%s: %d items, %v", args, n, err)
		}
	}
}

// TestListOfABusyServer asks a busy server again, also for the first page.
func TestListOfABusyServer(t *testing.T) {
	for _, args := range []string{"--max 120 /notes", "--max 120 --rest c_notes /book"} {
		l := new(listing)
		l.busy.Store(2)
		out, _, err := client(t, "", l.start(t), append([]string{"list", "--all"}, strings.Fields(args)...)...)
		if diff := cmp.Diff(lines(below(120)), out); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", args, err, diff)
		}
	}
}

func TestListSorted(t *testing.T) {
	want := func(likes int) (text string) {
		return lines(func(n int) bool {
			if likes < 0 {
				return n%3 == 0
			}
			return n%3 != 0 && n%10 == likes
		})
	}
	var ascending string
	for likes := -1; likes < 10; likes++ {
		ascending += want(likes)
	}
	for _, args := range []string{
		`--sort {"c_likes":1} /notes`,
		`--sort c_likes /notes`,
		`--sort {"c_likes":1,"_id":1} /notes`,
		`--sort c_likes --rest c_notes /book`,
	} {
		l := new(listing)
		out, _, err := client(t, "", l.start(t), append([]string{"list", "--all", "--limit", "40", "--paths", "c_likes"}, strings.Fields(args)...)...)
		if diff := cmp.Diff(ascending, out); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", args, err, diff)
		}
	}
}

// TestListResumes runs the command that a failed walk suggests.
func TestListResumes(t *testing.T) {
	for _, args := range []string{
		"--limit 60 /notes",
		`--limit 60 --paths c_likes --sort {"c_likes":-1} /notes`,
		"--limit 60 --rest c_notes /book",
		"--limit 60 --paths c_likes --sort c_likes --rest c_notes /book",
	} {
		t.Run(args, func(t *testing.T) {
			l := new(listing)
			env := l.start(t)
			list := func(more ...string) (string, error) {
				all := append([]string{"list", "--all"}, more...)
				out, _, err := client(t, "", env, append(all, strings.Fields(args)...)...)
				return out, err
			}
			whole, err := list()
			if err != nil {
				t.Fatal(err)
			}
			l.requests.Store(0)
			l.failAfter.Store(2)
			part, err := list()
			fault, ok := errors.AsType[*envelope.Fault](err)
			if !ok || fault.Detail != "expired.jwt" {
				t.Fatalf("%v", err)
			}
			var printed bytes.Buffer
			status := cli{errs: &printed, getenv: lookup("")}.status(err)
			_, position, ok := strings.Cut(printed.String(), "\nclient list goes on with: --resume '")
			if !ok || status != 1 || strings.Count(part, "\n") != 120 {
				t.Fatalf("status %d, %d lines, then %s", status, strings.Count(part, "\n"), &printed)
			}
			l.failAfter.Store(0)
			rest, err := list("--resume", strings.TrimSuffix(position, "'\n"))
			if diff := cmp.Diff(whole, part+rest); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestListRefusals(t *testing.T) {
	env := new(listing).start(t)
	for _, test := range []struct {
		name, args string
		usage      bool
		want       string
	}{
		{"a filter that is no JSON", "--where {c_likes:1} /notes", true, "where"},
		{"an operator that is none", `--where {"c_likes":{"$like":1}} /notes`, true, "unknown operator"},
		{"an order that is no JSON", "--sort {c_likes} /notes", true, "sort: not JSON"},
		{"an order of 2", `--sort {"c_likes":2} /notes`, true, "c_likes must be 1 or -1"},
		{"a negative number", "--max -1 /notes", true, "--max"},
		{"a property that the server does not know", `--where {"c_nope":1} /notes`, false, "/c_nope: unknown property"},
		{"a cursor of another order", "--sort c_likes --resume 0199 /notes", false, "not a cursor"},
		{"a list property that is none", "--rest c_nope /book", false, "unknown property"},
		{"a list that is none", "/book", false, "walk: "},
		{"no server", "--url http://127.0.0.1:1/acme/v2 /notes", false, "dial tcp 127.0.0.1:1"},
		{"a URL that is none", "--url nonsense /notes", true, "--url is http:// or https://"},
	} {
		t.Run(test.name, func(t *testing.T) {
			out, _, err := client(t, "", env, append([]string{"list"}, strings.Fields(test.args)...)...)
			if err == nil || out != "" || errors.As(err, new(usageError)) != test.usage || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, printed %q", err, out)
			}
		})
	}
}

func TestListOnATerminal(t *testing.T) {
	var out, errs bytes.Buffer
	c := cli{out: &out, errs: &errs, terminal: true, getenv: lookup(new(listing).start(t))}
	if err := c.run(t.Context(), []string{"list", "--all", "/notes"}); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(errs.String(), "250 items\n") || out.String() != lines(below(250)) {
		t.Errorf("%q", errs.String())
	}
}

// closed is a pipe whose reader is gone.
type closed struct{}

var errClosed = errors.New("closed pipe")

func (closed) Write([]byte) (int, error) { return 0, errClosed }

func TestListStops(t *testing.T) {
	l := new(listing)
	c := cli{out: closed{}, errs: new(bytes.Buffer), getenv: lookup(l.start(t))}
	if err := c.run(t.Context(), []string{"list", "--all", "/notes"}); !errors.Is(err, errClosed) || l.requests.Load() != 1 {
		t.Errorf("%v after %d requests", err, l.requests.Load())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.run(ctx, []string{"list", "--all", "/notes"}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

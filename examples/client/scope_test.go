package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
)

const (
	id1 = "5f1e0c3a9b7d4e2f8a6c0b11"
	id2 = "5f1e0c3a9b7d4e2f8a6c0b12"
)

// scoped runs client scope with chains as --grant flags. It also returns the exit
// status.
func scoped(t *testing.T, command, need string, grants ...string) (stdout, stderr string, status int) {
	t.Helper()
	args := []string{"scope", command}
	for _, grant := range grants {
		args = append(args, "--grant", grant)
	}
	out, _, err := client(t, "", "", append(args, need)...)
	var errs bytes.Buffer
	status = cli{errs: &errs}.status(err)
	return out, errs.String(), status
}

func TestScopeCheck(t *testing.T) {
	for _, test := range []struct {
		name, need string
		grants     []string
		out        string
		status     int
	}{
		{"allowed", "object.read.c_a." + id1, []string{"admin", "object.read.c_a"}, "allowed\n", 0},
		{"denied", "object.read.c_a", []string{"object.read.c_a." + id1}, "denied\n", 1},
		{"everything", "admin.update", []string{"*"}, "allowed\n", 0},
		{"nothing", "admin.update", nil, "denied\n", 1},
		{"an empty chain, as of a variable that is not set", "admin.update", []string{""}, "", 2},
		{"a chain that does not parse, beside one that allows", "admin", []string{"admin", "object.READ"}, "", 2},
		{"an unknown root, beside one that allows", "admin", []string{"admin", "billing"}, "", 2},
		{"a need of an unknown root", "billing", []string{"*"}, "", 2},
		{"a need that does not parse", "deployment.create", []string{"*"}, "", 2},
		{"an empty need", "", []string{"*"}, "", 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			out, errs, status := scoped(t, "check", test.need, test.grants...)
			if out != test.out || status != test.status || (errs == "") != (status < 2) {
				t.Errorf("%q, status %d, want %q and %d; %s", out, status, test.out, test.status, errs)
			}
		})
	}
}

func TestScopeExplain(t *testing.T) {
	for _, test := range []struct {
		name, need string
		grants     []string
		want       string
	}{
		{"the chain that allows", "object.read.c_a." + id1 + ".name", []string{"view", "object.*.c_a.*.name"}, `allowed
This chain covers object.read.c_a.` + id1 + `.name:
    object.*.c_a.*.name
`},
		{"another property", "object.read.c_a.*.size", []string{"view", "object.read.c_a.*.name"}, `denied
The nearest chain fails at segment 5:
    object.read.c_a.*.name
                      ^^^^
The chain has "name" where the need has "size".
`},
		{"the whole of an object", "object.read.c_a", []string{"object.read.c_a.*.name"}, `denied
The nearest chain fails at segment 5:
    object.read.c_a.*.name
                      ^^^^
The need ends before "name": it asks for more than this part.
`},
		{"all objects", "object.read.c_a.*.name", []string{"object.read.c_a." + id1}, `denied
The nearest chain fails at segment 4:
    object.read.c_a.` + id1 + `
                    ^^^^^^^^^^^^^^^^^^^^^^^^
The need asks for all there are, and not for "` + id1 + `" alone.
`},
		{"all types", "object.read.c_a", []string{"object.read.c_a#b"}, `denied
The nearest chain fails at segment 3:
    object.read.c_a#b
                ^^^^^
The need asks for "c_a" of any type, and not for "c_a#b" alone.
`},
		{"another root", "view.execute.v", []string{"admin"}, `denied
The nearest chain fails at segment 1:
    admin
    ^^^^^
The chain has "admin" where the need has "view".
`},
		{"nothing granted", "admin", nil, "denied\nNo chain could match anything.\n"},
		{"C02b a chain that can match nothing", "object.create.c_a", []string{"object.create.c_a." + id1}, "denied\nNo chain could match anything.\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			out, errs, status := scoped(t, "explain", test.need, test.grants...)
			if out != test.want || errs != "" || (status == 0) != strings.HasPrefix(out, "allowed") {
				t.Errorf("status %d, %s\n%s", status, errs, out)
			}
		})
	}
	t.Run("every pair of chains of the corpus can be explained", func(t *testing.T) {
		rows := corpus(t)
		for i, row := range rows {
			if row.Error || slices.Contains(row.Grants, "") {
				continue
			}
			out, _, status := scoped(t, "explain", row.Need, row.Grants...)
			if want := map[bool]int{true: 0, false: 1}[*row.Allowed]; status != want || len(out) < 20 {
				t.Errorf("row %d, %q on %q: status %d\n%s", i, row.Grants, row.Need, status, out)
			}
		}
	})
}

func TestScopeSyntax(t *testing.T) {
	for _, command := range []string{"check", "explain"} {
		_, errs, status := scoped(t, command, "admin", "object.read.account.name", "view.execute", "billing", "object.read.\x1b[2J")
		want := `client: grant 1: segment 4: got "name", expected an identifier or *; an identifier or * stands before a property: object.read.account.*.name
    object.read.account.name
                        ^^^^
grant 3: segment 1: got "billing", expected a root of the grammar
    billing
    ^^^^^^^
grant 4: segment 3: got "\x1b[2J", expected an object name or *
`
		if errs != want || status != 2 {
			t.Errorf("%s: status %d\n%s", command, status, errs)
		}
		_, errs, status = scoped(t, command, "view.", "*")
		want = `client: the need: segment 2: got "", expected execute or *
    view.
         ^
`
		if errs != want || status != 2 {
			t.Errorf("%s: status %d\n%s", command, status, errs)
		}
	}
}

// TestScopeMarks checks that marks stand below the letters of a chain, or nowhere.
func TestScopeMarks(t *testing.T) {
	for _, test := range []struct{ name, chain, want string }{
		{"a segment with a blank", "object.read.c_a b.x", "    object.read.c_a b.x\n                ^^^^^\n"},
		{"letters of two bytes", "objéct.reäd", ""},
		{"a Cyrillic letter that looks Latin", "object.reаd", ""},
		{"letters of two cells", "object.日本", ""},
		{"a letter of two cells that is Latin", "object.ｒead", ""},
		{"a combining mark", "object.re\u0301ad", ""},
		{"letters from right to left", "object.\u05e7\u05e8\u05d0", ""},
		{"an invisible letter", "object.re\u200bad", ""},
		{"bytes that are no text", "object.re\xffad", ""},
		{"a chain that is too long", strings.Repeat("a", 513), "    " + strings.Repeat("a", 513) + "\n    " + strings.Repeat(" ", 512) + "^\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, errs, status := scoped(t, "explain", "object.read", test.chain)
			_, marks, _ := strings.Cut(errs, "\n")
			if status != 2 || marks != test.want {
				t.Errorf("status %d\n%s", status, errs)
			}
		})
	}
}

func TestScopeUsage(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"scope", "check"}, "one need is needed, or --batch"},
		{[]string{"scope", "explain", "admin", "view"}, "accepts 1 arg(s), received 2"},
		{[]string{"scope", "check", "--grant", "", "admin"}, "everything is *"},
		{[]string{"scope", "check", "--batch", "admin"}, "standard input only"},
		{[]string{"scope", "check", "--batch", "--grant", "admin"}, "[batch grant]"},
	} {
		_, _, err := client(t, "", "", test.args...)
		if !errors.As(err, new(usageError)) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v", test.args, err)
		}
	}
}

// batch returns the answers to the lines of a text.
func batch(t *testing.T, in string) []string {
	t.Helper()
	out, _, err := client(t, in, "", "scope", "check", "--batch")
	if err != nil {
		t.Fatal(err)
	}
	if out == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(out, "\n"), "\n")
}

func TestScopeBatch(t *testing.T) {
	const allowed, denied = `{"allowed":true}`, `{"allowed":false}`
	for _, test := range []struct {
		name, line string
		want       string // or a part of an error
	}{
		{"allowed", `{"grants":["object.read.c_a"],"need":"object.read.c_a.` + id2 + `"}`, allowed},
		{"denied", `{"grants":["object.read.c_a"],"need":"object.update.c_a"}`, denied},
		{"the empty chain is everything", `{"grants":[""],"need":"admin"}`, allowed},
		{"an empty list is nothing", `{"grants":[],"need":"admin"}`, denied},
		{"a missing list is nothing", `{"need":"admin"}`, denied},
		{"the order of members is free, and so is space", " {\t\"need\" : \"admin\", \"grants\" : [ \"*\" ] } \r", allowed},
		{"escapes", `{"grants":["\u0061dmin"],"need":"admin"}`, allowed},

		{"a list that is null", `{"grants":null,"need":"admin"}`, "grants: must be an array of strings"},
		{"a chain that is null", `{"grants":[null],"need":"admin"}`, "grants: must be an array of strings"},
		{"a list that is a text", `{"grants":"*","need":"admin"}`, "grants: must be an array of strings"},
		{"a chain that is a number", `{"grants":[1],"need":"admin"}`, "grants: must be an array of strings"},
		{"a need that is null", `{"grants":[""],"need":null}`, "need: must be a string"},
		{"a need that is a list", `{"grants":[""],"need":["admin"]}`, "need: must be a string"},
		{"no need", `{"grants":[""]}`, "need: is required"},
		{"an empty need", `{"grants":[""],"need":""}`, "need: segment 1: "},
		{"a need that does not parse", `{"grants":[""],"need":"object.READ"}`, "need: segment 2: "},
		{"a need of an unknown root", `{"grants":[""],"need":"billing"}`, "need: segment 1: "},
		{"a chain that does not parse", `{"grants":["","object.READ"],"need":"admin"}`, "grants[1]: segment 2: got"},
		{"a chain of an unknown root", `{"grants":["","billing"],"need":"admin"}`, "grants[1]: segment 1: got"},
		{"a member in other letters", `{"Grants":[""],"need":"admin"}`, "Grants: unknown field"},
		{"an unknown member", `{"grant":[""],"need":"admin"}`, "grant: unknown field"},
		{"a member that stands twice", `{"grants":[],"need":"admin","grants":[""]}`, "grants: given more than once"},
		{"two objects", `{"need":"admin"}{"need":"admin"}`, "malformed JSON"},
		{"an object that does not end", `{"grants":[""],"need":"admin"`, "malformed JSON"},
		{"another value", `["admin"]`, "must be a JSON object"},
		{"null", `null`, "must be a JSON object"},
		{"no text", ``, "malformed JSON"},
		{"not UTF-8", "{\"grants\":[\"\xff\"],\"need\":\"admin\"}", "not UTF-8"},
		{"a long line", `{"grants":["` + strings.Repeat(`admin","`, 1023) + `"],"need":"admin"` + strings.Repeat(" ", 1<<20) + `}`, allowed},
		{"too long a list", `{"grants":["` + strings.Repeat(`admin","`, 1024) + `"],"need":"admin"}`, "at most 1024 chains"},
	} {
		t.Run(test.name, func(t *testing.T) {
			const next = `{"grants":["view"],"need":"view"}`
			for _, in := range []string{test.line + "\n" + next, next + "\n" + test.line + "\n"} {
				got := batch(t, in)
				if len(got) != 2 {
					t.Fatalf("%d lines", len(got))
				}
				answer, other := got[0], got[1]
				if strings.HasPrefix(in, next) {
					answer, other = other, answer
				}
				if other != allowed {
					t.Errorf("the other line: %s", other)
				}
				isError := strings.HasPrefix(answer, `{"error":"`) && strings.Contains(answer, test.want)
				if answer != test.want && !isError {
					t.Errorf("got %.300s", answer)
				}
			}
		})
	}
	t.Run("no line", func(t *testing.T) {
		if got := batch(t, ""); got != nil {
			t.Error(got)
		}
	})
}

type corpusRow struct {
	Grants  []string `json:"grants"`
	Need    string   `json:"need"`
	Allowed *bool    `json:"allowed"`
	Error   bool     `json:"error"`
	Why     string   `json:"why"`
}

// corpus holds the decisions that the library ships for all implementations.
func corpus(t *testing.T) []corpusRow {
	t.Helper()
	text, err := os.ReadFile("../../internal/interop/conformance/v1/scope.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Rows []corpusRow }
	if err := json.Unmarshal(text, &file); err != nil || len(file.Rows) < 400 {
		t.Fatal(len(file.Rows), err)
	}
	return file.Rows
}

func TestScopeBatchReplaysTheCorpus(t *testing.T) {
	rows := corpus(t)
	var in strings.Builder
	for _, row := range rows {
		line, err := json.Marshal(map[string]any{"grants": row.Grants, "need": row.Need})
		if err != nil {
			t.Fatal(err)
		}
		in.Write(append(line, '\n'))
	}
	got := batch(t, in.String())
	if len(got) != len(rows) {
		t.Fatalf("%d answers to %d rows", len(got), len(rows))
	}
	for i, row := range rows {
		var answer struct {
			Allowed *bool
			Error   string
		}
		if err := json.Unmarshal([]byte(got[i]), &answer); err != nil {
			t.Fatal(err)
		}
		right := row.Error && answer.Error != "" && answer.Allowed == nil ||
			!row.Error && answer.Error == "" && answer.Allowed != nil && *answer.Allowed == *row.Allowed
		if !right {
			t.Errorf("row %d, %.200q on %q: %s; %s", i, row.Grants, row.Need, got[i], row.Why)
		}
	}
}

func TestScopeBatchAnswersWhoWaits(t *testing.T) {
	in, ask := io.Pipe()
	answers, out := io.Pipe()
	ended := make(chan error)
	go func() {
		c := cli{in: in, out: out, errs: io.Discard}
		ended <- c.run(t.Context(), []string{"scope", "check", "--batch"})
	}()
	read := bufio.NewReader(answers)
	for range 3 {
		io.WriteString(ask, `{"grants":["*"],"need":"admin"}`+"\n")
		if line, err := read.ReadString('\n'); line != "{\"allowed\":true}\n" || err != nil {
			t.Fatalf("%q %v", line, err)
		}
	}
	ask.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestScopeBatchEndsAtALineThatIsTooLong(t *testing.T) {
	out, _, err := client(t, `{"need":"admin"}`+"\n"+strings.Repeat(" ", maxLine+1)+"\n", "", "scope", "check", "--batch")
	if err == nil || !strings.Contains(err.Error(), "a line of more than") || out != "{\"allowed\":false}\n" {
		t.Errorf("%v, printed %q", err, out)
	}
}

func TestScopeBatchReportsAnInputThatFails(t *testing.T) {
	broken := errors.New("broken")
	in := io.MultiReader(strings.NewReader(`{"need":"admin"}`+"\n"), errorReader{broken})
	var out bytes.Buffer
	c := cli{in: in, out: &out, errs: io.Discard}
	err := c.run(t.Context(), []string{"scope", "check", "--batch"})
	if !errors.Is(err, broken) || out.String() != "{\"allowed\":false}\n" {
		t.Errorf("%v, printed %q", err, out.String())
	}
}

type errorReader struct{ err error }

func (r errorReader) Read([]byte) (int, error) { return 0, r.err }

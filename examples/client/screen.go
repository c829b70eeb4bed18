package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// The colours of a terminal, by ECMA-48.
const (
	red    = "31"
	green  = "32"
	blue   = "34"
	purple = "35"
	bold   = "1"
)

// painted returns text in a colour if it goes to a terminal whose user has not refused
// colours (no-color.org).
func (c cli) painted(terminal bool, colour, text string) string {
	if !terminal || c.getenv("NO_COLOR") != "" || c.getenv("TERM") == "dumb" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// printable escapes what could control a terminal or deceive its reader: control
// characters, invisible ones, and those that turn the direction of writing. What JSON
// requires to be escaped stays valid JSON.
func printable(text string) string {
	if strings.IndexFunc(text, hidden) < 0 {
		return text
	}
	var safe strings.Builder
	for _, r := range text {
		if !hidden(r) {
			safe.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) { // as JSON escapes it
			fmt.Fprintf(&safe, `\u%04x`, unit)
		}
	}
	return safe.String()
}

func hidden(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }

// jsonToken matches the strings, the keys with their colon, and the other values of indented JSON.
var jsonToken = regexp.MustCompile(`"(?:[^"\\]|\\.)*"(?:: )?|[^\s\[\]{},"]+`)

// paintedJSON makes indented JSON safe for a terminal, and colours it.
func (c cli) paintedJSON(text string) string {
	text = strings.Trim(text, " \t\r\n") // json.Indent keeps what follows the value
	return jsonToken.ReplaceAllStringFunc(text, func(token string) string {
		key, isKey := strings.CutSuffix(token, `": `)
		switch {
		case isKey:
			return c.painted(true, blue, printable(key+`"`)) + ": "
		case token[0] == '"':
			return c.painted(true, green, printable(token))
		}
		return c.painted(true, purple, token)
	})
}

const (
	tableRows = 100 // that are laid out together
	cellWidth = 60  // characters
)

// table prints items as rows. Its columns are the properties of the rows that are laid
// out together. If the next rows have others, they get a head of their own.
type table struct {
	c       cli
	columns []string // of the last head
	names   []string // of the rows that wait
	waiting []map[string]json.RawMessage
}

// add adds an object. Its columns do not have "object", which is the same in all rows.
func (t *table) add(text []byte) error {
	values := make(map[string]json.RawMessage)
	decoder := json.NewDecoder(bytes.NewReader(text))
	_, _ = decoder.Token() // the opening brace
	for decoder.More() {
		token, _ := decoder.Token()
		name, _ := token.(string)
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return err
		}
		values[name] = value
		if name != "object" && !slices.Contains(t.names, name) {
			t.names = append(t.names, name)
		}
	}
	t.waiting = append(t.waiting, values)
	if len(t.waiting) < tableRows {
		return nil
	}
	return t.flush()
}

func (t *table) flush() error {
	if len(t.waiting) == 0 {
		return nil
	}
	var laid bytes.Buffer
	rows := tabwriter.NewWriter(&laid, 0, 0, 2, ' ', 0)
	head := !slices.Equal(t.names, t.columns)
	row := func(cellOf func(name string) string) {
		for _, name := range t.names {
			fmt.Fprint(rows, cellOf(name), "\t")
		}
		fmt.Fprintln(rows)
	}
	if head {
		row(printable)
	}
	for _, values := range t.waiting {
		row(func(name string) string { return cell(values[name]) })
	}
	if err := rows.Flush(); err != nil {
		return err
	}
	var out strings.Builder
	for line := range strings.Lines(laid.String()) {
		line = strings.TrimRight(line, " \n")
		if head {
			line, head = t.c.painted(true, bold, line), false
		}
		out.WriteString(line + "\n")
	}
	t.columns, t.waiting, t.names = t.names, nil, nil
	_, err := io.WriteString(t.c.out, out.String())
	return err
}

func cell(value json.RawMessage) string {
	text := string(value)
	if strings.HasPrefix(text, `"`) {
		_ = json.Unmarshal(value, &text) // it is a string
	}
	return short(text)
}

// short returns a text as a terminal can show it, in a cell.
func short(text string) string {
	shown := []rune(printable(text))
	if len(shown) > cellWidth {
		return string(shown[:cellWidth-1]) + "…"
	}
	return string(shown)
}

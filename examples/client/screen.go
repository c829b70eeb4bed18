package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
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
		switch {
		case !hidden(r):
			safe.WriteRune(r)
		case r > 0xffff:
			high, low := surrogates(r)
			fmt.Fprintf(&safe, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&safe, `\u%04x`, r)
		}
	}
	return safe.String()
}

// surrogates returns the pair that JSON escapes a character beyond U+FFFF with.
func surrogates(r rune) (high, low rune) {
	r -= 0x10000
	return 0xd800 + r>>10, 0xdc00 + r&0x3ff
}

func hidden(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }

// paintedJSON makes indented JSON safe for a terminal, and colours it.
func (c cli) paintedJSON(text string) string {
	var out strings.Builder
	text = strings.Trim(text, " \t\r\n") // json.Indent keeps what follows the value
	for line := range strings.Lines(text) {
		body := strings.TrimLeft(strings.TrimSuffix(line, "\n"), " ")
		out.WriteString(line[:strings.Index(line, body)])
		if end := stringEnd(body); end > 0 && strings.HasPrefix(body[end:], ": ") {
			out.WriteString(c.painted(true, blue, printable(body[:end])) + ": ")
			body = body[end+2:]
		}
		out.WriteString(c.paintedValue(body))
		if strings.HasSuffix(line, "\n") {
			out.WriteByte('\n')
		}
	}
	return out.String()
}

// paintedValue colours what follows a key of indented JSON.
func (c cli) paintedValue(text string) string {
	value := strings.TrimSuffix(text, ",")
	comma := text[len(value):]
	switch {
	case strings.HasPrefix(value, `"`):
		return c.painted(true, green, printable(value)) + comma
	case value == "" || strings.ContainsAny(value, "{}[]"):
		return text
	}
	return c.painted(true, purple, value) + comma
}

// stringEnd returns the end of the JSON string at the beginning of text, or 0.
func stringEnd(text string) int {
	if !strings.HasPrefix(text, `"`) {
		return 0
	}
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}

const (
	tableRows = 100 // that are laid out together
	cellWidth = 60  // characters
)

// table prints items as rows. Its columns are the properties of the rows that are laid
// out together. If the next rows have others, they get a head of their own.
type table struct {
	c       cli
	columns []string
	widths  map[string]int
	waiting []map[string]json.RawMessage
	names   []string // of the rows that wait
}

// add takes the JSON of an item.
func (t *table) add(text []byte) error {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(text, &values); err != nil {
		return err
	}
	for _, name := range namesOf(text) {
		if !slices.Contains(t.names, name) {
			t.names = append(t.names, name)
		}
	}
	t.waiting = append(t.waiting, values)
	if len(t.waiting) < tableRows {
		return nil
	}
	return t.flush()
}

// flush prints the rows that wait.
func (t *table) flush() error {
	if len(t.waiting) == 0 {
		return nil
	}
	var rows [][]string
	for _, values := range t.waiting {
		row := make([]string, len(t.names))
		for i, name := range t.names {
			row[i] = cell(values[name])
		}
		rows = append(rows, row)
	}
	var out strings.Builder
	if !slices.Equal(t.names, t.columns) {
		t.columns, t.widths = t.names, make(map[string]int)
		head := make([]string, len(t.names))
		for i, name := range t.names {
			head[i] = printable(name)
		}
		t.fit(append(rows, head))
		out.WriteString(t.c.painted(true, bold, t.line(head)) + "\n")
	}
	t.fit(rows)
	for _, row := range rows {
		out.WriteString(t.line(row) + "\n")
	}
	t.waiting, t.names = nil, nil
	_, err := io.WriteString(t.c.out, out.String())
	return err
}

// fit widens the columns to what the rows need.
func (t *table) fit(rows [][]string) {
	for _, row := range rows {
		for i, text := range row {
			t.widths[t.columns[i]] = max(t.widths[t.columns[i]], utf8.RuneCountInString(text))
		}
	}
}

func (t *table) line(row []string) string {
	var line strings.Builder
	for i, text := range row {
		line.WriteString(text + strings.Repeat(" ", t.widths[t.columns[i]]-utf8.RuneCountInString(text)+2))
	}
	return strings.TrimRight(line.String(), " ")
}

// namesOf returns the names of an object's properties in their order, without "object",
// which is the same in all rows.
func namesOf(text []byte) (names []string) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	_, _ = decoder.Token() // the opening brace
	for decoder.More() {
		name, _ := decoder.Token()
		var value json.RawMessage
		if decoder.Decode(&value) != nil {
			return names
		}
		if name != "object" {
			names = append(names, name.(string))
		}
	}
	return names
}

// cell returns a value as it stands in a table: a string without quotes.
func cell(value json.RawMessage) string {
	text := string(value)
	if strings.HasPrefix(text, `"`) {
		_ = json.Unmarshal(value, &text) // it is a string
	}
	shown := []rune(printable(text))
	if len(shown) > cellWidth {
		return string(shown[:cellWidth-1]) + "…"
	}
	return string(shown)
}

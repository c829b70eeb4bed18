package main

import (
	"bytes"
	"encoding/json"
	"fmt"
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

// table prints items as rows. The rows that are laid out together have a head of their own.
type table struct {
	c       cli
	names   []string // of the columns
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
	rows := tabwriter.NewWriter(t.c.out, 0, 0, 2, ' ', 0)
	row := func(cellOf func(name string) string) {
		var cells []string
		for _, name := range t.names {
			cells = append(cells, cellOf(name))
		}
		fmt.Fprintln(rows, strings.Join(cells, "\t"))
	}
	row(printable)
	for _, values := range t.waiting {
		row(func(name string) string { return cell(values[name]) })
	}
	t.waiting, t.names = nil, nil
	return rows.Flush()
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

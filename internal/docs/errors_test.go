package docs_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/auth"
)

// errorPage has an anchor for each code of a fault. Head and message of its entries are generated, and
// the rest is written by hand.
const errorPage = "examples/guides/errors.md"

// handWritten begins what each entry must say by hand, in this order.
var handWritten = []string{"\n- **Causes**: ", "\n- **Client**: ", "\n- **Operator**: ", "\n- **Repeat**: "}

// errorsPage returns the page with the entries that internal/faults makes of it, in the order of
// auth/fault.go. A new code gets an entry, which fails until somebody writes its text.
func errorsPage(t *testing.T) string {
	intro, entries := entriesOf(read(t, errorPage))
	var page strings.Builder
	page.WriteString(intro)
	for _, detail := range details(t) {
		f := (&auth.Error{Detail: detail}).Fault()
		byHand := entries[detail]
		delete(entries, detail)
		if lacks := lacking(byHand); lacks != "" {
			t.Errorf("%s: %s has no text for %s", errorPage, detail, lacks)
		}
		fmt.Fprintf(&page, "<a id=\"%s\"></a>\n\n### %s\n\n**%d** `%s` `%s`\n\n%s\n\n", detail, detail, f.Status, f.Code, f.Message, byHand)
	}
	for detail := range entries {
		t.Errorf("%s has an entry for %s, which is no code", errorPage, detail)
	}
	return strings.TrimSpace(page.String()) + "\n"
}

// entriesOf returns what is before the entries, and what each says by hand.
func entriesOf(text string) (intro string, entries map[string]string) {
	parts := strings.Split(text, `<a id="`)
	entries = map[string]string{}
	for _, part := range parts[1:] {
		detail, rest, _ := strings.Cut(part, `"></a>`)
		paragraphs := strings.Split(strings.TrimSpace(rest), "\n\n")
		for len(paragraphs) > 0 && (strings.HasPrefix(paragraphs[0], "### ") || strings.HasPrefix(paragraphs[0], "**")) {
			paragraphs = paragraphs[1:]
		}
		entries[detail] = strings.Join(paragraphs, "\n\n")
	}
	return parts[0], entries
}

// lacking returns what an entry does not say: what the error means, or one of handWritten after it.
func lacking(byHand string) string {
	part, rest := "its meaning", byHand
	for _, label := range append(slices.Clone(handWritten), "") {
		said, after, found := strings.Cut(rest, label)
		if label == "" {
			said, found = rest, true
		}
		if !found || len(strings.TrimSpace(said)) < 3 {
			return part
		}
		part, rest = strings.TrimSpace(label), after
	}
	return ""
}

func TestErrorEntriesAreWhole(t *testing.T) {
	const whole = "It means this.\n\n- **Causes**: one.\n- **Client**: this.\n- **Operator**: that.\n- **Repeat**: no."
	for name, text := range map[string]string{
		"nothing":       "",
		"no meaning":    strings.TrimPrefix(whole, "It means this."),
		"no operator":   strings.Replace(whole, "- **Operator**: that.\n", "", 1),
		"no causes":     strings.Replace(whole, "one.", "", 1),
		"no repetition": strings.Replace(whole, "no.", "", 1),
		"another order": strings.Replace(whole, "Causes", "Repeat", 1),
	} {
		if lacking(text) == "" {
			t.Errorf("%s: accepted", name)
		}
	}
	if lacks := lacking(whole); lacks != "" {
		t.Errorf("a whole entry lacks %s", lacks)
	}
}

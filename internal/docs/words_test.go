package docs_test

import (
	"regexp"
	"strings"
	"testing"
)

// words pairs the words that documents avoid with those of the field. A reader searches for the
// latter, and finds nothing under the former.
var words = []struct {
	not *regexp.Regexp
	but string
}{
	{word(`refus(e|es|ed|ing|al|als)`), "reject, rejection, deny"},
	{word(`repl(y|ies|ied)|answer(s|ed|ing)?`), "response, respond, return"},
	{word(`makers?`), "creator, issuer"},
	{word(`texts?`), "string, message"},
	{word(`tries|wrong try`), "attempts"},
	{word(`former(ly)?|present (password|key)`), "previous, current"},
	{word(`blanks?`), "space"},
	{word(`spend|spends|spent|spending`), "consume, use up"},
	{word(`nobody|somebody|everybody|whoever|strangers?`), "no one, anyone who, an unauthenticated caller"},
	{word(`(is|are|was|were) no \w+`), "is not a"},
	{word(`(has|have|had) an end|without end`), "expires, without a bound"},
	{word(`says? otherwise`), "sets another"},
	{word(`told apart`), "distinguished"},
	{word(`signing keys?`), "request credential, for what signs requests"},
	{word(`key pairs?`), "token signing key"},
	{word(`front doors?`), "access layer, reverse proxy"},
	{word(`tenants?|environment URL|compan(y|ies)`), "org"},
}

func word(pattern string) *regexp.Regexp { return regexp.MustCompile(`(?i)\b(` + pattern + `)\b`) }

// allowed are phrases that contain such a word, and mean something else.
var allowed = word(`token signing keys?|multi-tenant|there (is|are) no|(is|are|was|were) no (longer|more|less|later)|` +
	`line of text|as text|text or json|default "text|random text|text and binary`)

// notProse matches what the words of a document are not looked for in: blocks of code, comments, code
// in a line, addresses of links, and names of tests.
var notProse = regexp.MustCompile("(?ms)^ *```.*?^ *```$|<!-- faults.*?<!-- end -->|<!--.*?-->|`[^`\n]*\n?[^`\n]*`|\\]\\([^)]*\\)|[\\w/]+\\.(Test|Fuzz)\\w+")

func TestWords(t *testing.T) {
	t.Chdir(root)
	labels := regexp.MustCompile(`(?s)\*\*.*?\*\*`)
	for _, document := range documents() {
		if document == "examples/guides/reference/configuration.md" {
			continue // comments of the code
		}
		prose := read(t, document)
		if document == "examples/platform/VISIT.md" {
			prose = labels.ReplaceAllString(prose, "") // what the page says
		}
		prose = strings.Join(strings.Fields(notProse.ReplaceAllString(prose, "`")), " ") // a phrase may go on in the next line
		prose = allowed.ReplaceAllString(prose, "`")
		for _, w := range words {
			for _, at := range w.not.FindAllStringIndex(prose, -1) {
				around := prose[max(0, at[0]-30):min(len(prose), at[1]+30)]
				t.Errorf("%s: …%s…: not %q but %s", document, around, prose[at[0]:at[1]], w.but)
			}
		}
	}
}

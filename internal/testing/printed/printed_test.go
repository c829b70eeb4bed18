package printed_test

import (
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/internal/testing/printed"
)

// open is a type that prints its secret.
type open string

func TestAll(t *testing.T) {
	text := printed.All(open("Tr0ub4dor"))
	for way, want := range map[string]string{
		"fmt":            `[]printed_test.open{"Tr0ub4dor"}`,
		"JSON":           `"Value":"Tr0ub4dor"`,
		"XML":            `<Value>Tr0ub4dor</Value>`,
		"XML attributes": `Attr="Tr0ub4dor"`,
		"gob":            "\x09Tr0ub4dor",
		"slog":           `v=Tr0ub4dor`,
		"slog as JSON":   `"v":"Tr0ub4dor"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not there: %q", way, want)
		}
	}
}

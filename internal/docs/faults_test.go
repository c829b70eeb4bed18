package docs_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/auth"
)

var update = flag.Bool("update", false, "write the table of faults into INTERFACE.md")

const (
	beginFaults = "<!-- faults: go test -run TestDocumentedFaults . -update -->\n\n"
	endFaults   = "\n<!-- end -->\n"
)

// TestDocumentedFaults compares the table of faults in section 6 of the interface with
// internal/faults, row by row and in the order of auth/fault.go.
func TestDocumentedFaults(t *testing.T) {
	t.Chdir(root)
	const document = "INTERFACE.md"
	text := read(t, document)
	before, rest, begun := strings.Cut(text, beginFaults)
	table, after, ended := strings.Cut(rest, endFaults)
	if !begun || !ended {
		t.Fatalf("%s has no place for the table of faults", document)
	}
	want := faultTable(t)
	if *update {
		if err := os.WriteFile(document, []byte(before+beginFaults+want+endFaults+after), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if table != want {
		t.Errorf("%s has another table of faults than internal/faults: run go test -run TestDocumentedFaults . -update", document)
	}
}

// faultTable returns the table of the fault of each detail.
func faultTable(t *testing.T) string {
	t.Helper()
	var table strings.Builder
	table.WriteString("| status | `errCode` | `code` | `message` |\n|---|---|---|---|\n")
	for _, detail := range details(t) {
		f := (&auth.Error{Detail: detail}).Fault()
		if f.Detail != detail {
			t.Errorf("%s has no row in internal/faults", detail)
		}
		fmt.Fprintf(&table, "| %d | `%s` | `%s` | %s |\n", f.Status, f.Detail, f.Code, f.Message)
	}
	return table.String()
}

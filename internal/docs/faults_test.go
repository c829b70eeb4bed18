package docs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/auth"
)

const (
	beginFaults = "<!-- faults: go test -run TestGenerated ./internal/docs ./examples/platform -update -->\n\n"
	endFaults   = "\n<!-- end -->\n"
)

// withFaultTable returns the interface with the table of faults in its section 6, in the order of
// auth/fault.go.
func withFaultTable(t *testing.T) string {
	t.Helper()
	const document = "INTERFACE.md"
	before, rest, begun := strings.Cut(read(t, document), beginFaults)
	_, after, ended := strings.Cut(rest, endFaults)
	if !begun || !ended {
		t.Fatalf("%s has no space for the table of faults", document)
	}
	return before + beginFaults + faultTable(t) + endFaults + after
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

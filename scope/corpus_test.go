package scope_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/tenantkit/tenantkit/scope"
)

// corpusRow is one row of scope.json; see the README beside it.
type corpusRow struct {
	Rule    string   `json:"rule"`
	Grants  []string `json:"grants"`
	Need    string   `json:"need"`
	Allowed *bool    `json:"allowed"`
	Error   bool     `json:"error"`
	Why     string   `json:"why"`
}

func corpus(t testing.TB) []corpusRow {
	t.Helper()
	text, err := os.ReadFile("../internal/interop/conformance/v1/scope.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Version int
		Rows    []corpusRow
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	if file.Version != 1 || len(file.Rows) < 685 {
		t.Fatalf("version %d with %d rows", file.Version, len(file.Rows))
	}
	return file.Rows
}

func TestCorpus(t *testing.T) {
	for i, row := range corpus(t) {
		if row.Error == (row.Allowed != nil) || row.Rule == "" || row.Why == "" {
			t.Fatalf("row %d is malformed: %+v", i, row)
		}
		allowed, ok := decide(row.Grants, row.Need)
		if ok == row.Error || ok && allowed != *row.Allowed {
			t.Errorf("row %d, %s: %.200q on %q: allowed %t, parses %t; %s", i, row.Rule, row.Grants, row.Need, allowed, ok, row.Why)
		}
	}
}

// decide evaluates a row as a command line of this package would. An unknown root is an
// error there.
func decide(grants []string, text string) (allowed, ok bool) {
	set, err := scope.Compile("corpus", grants...)
	if err != nil || len(collect(set.Unknown())) > 0 {
		return false, false
	}
	n, err := scope.ParseNeed(text)
	if err != nil {
		return false, false
	}
	return set.Allows(n), true
}

func TestPlainMatcherAgreesWithTheCorpus(t *testing.T) {
	for i, row := range corpus(t) {
		allowed, ok := slowAllows(row.Grants, row.Need)
		if len(row.Grants) > 1024 {
			ok = false
		}
		if ok == row.Error || ok && allowed != *row.Allowed {
			t.Errorf("row %d, %s: %.200q on %q: allowed %t, parses %t; %s", i, row.Rule, row.Grants, row.Need, allowed, ok, row.Why)
		}
	}
}

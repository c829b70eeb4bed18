package sqlstore_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestOnSQLite runs the suites of storetest over SQLite. They are tests of
// internal/enginetest, so only that module depends on the driver. A change that breaks
// this package then fails here. The other engines are tested only there.
func TestOnSQLite(t *testing.T) {
	if testing.Short() || os.Getenv("REQUIRE_ENGINES") != "" {
		t.Skip("left to the run of internal/enginetest itself")
	}
	if where, err := exec.Command("go", "env", "GOWORK").Output(); err != nil || !strings.HasSuffix(strings.TrimSpace(string(where)), ".work") {
		t.Skip("there is no workspace: in a clone, run go test -run TestSQL ./internal/enginetest")
	}
	test := exec.CommandContext(t.Context(), "go", "test", "-run", "^TestSQL[A-Z][a-z]+$", "../../internal/enginetest")
	test.Env = append(os.Environ(), "ENGINE=SQLite")
	if out, err := test.CombinedOutput(); err != nil {
		t.Errorf("%v: %v\n%s", test, err, out)
	}
}

package sqlstore_test

import "testing"

// TestOnAnEngine says where the suites of storetest run. Only their module depends on
// the drivers of engines.
func TestOnAnEngine(t *testing.T) {
	t.Skip("run: go test -run '^TestSQL' ../../internal/enginetest")
}

package mempage_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/mempage"
)

// TestPagesAreBoundedInBytes is P30: whatever a row holds, its page ends at paging.MaxBytes, and
// the pages together have each row once.
func TestPagesAreBoundedInBytes(t *testing.T) {
	long := strings.Repeat("a", paging.MaxBytes/8)
	type named struct {
		hidden string
		Inner  struct{ Text *string }
	}
	for name, row := range map[string]any{
		"a text":          long,
		"bytes":           []byte(long),
		"a document":      map[string]any{"a": []any{map[string]any{"b": long}}},
		"an own field":    named{hidden: long},
		"a pointer":       &named{Inner: struct{ Text *string }{&long}},
		"array of texts":  [2]string{1: long},
		"a key of a map":  map[string]int{long: 1},
		"an alias":        struct{ Text alias }{alias(long)},
		"below a pointer": map[string]*named{"x": {hidden: long}},
	} {
		t.Run("P30 "+name, func(t *testing.T) {
			rows := make([]any, 20)
			for i := range rows {
				rows[i] = row
			}
			get := func(any, string) (any, bool) { return nil, false }
			met, pages := 0, 0
			for more := true; more; pages++ {
				var page []any
				page, more = mempage.Page(rows, paging.Query{Limit: 1000, Skip: met}, get)
				if met += len(page); len(page) > 8 || len(page) == 0 {
					t.Fatalf("a page of %d rows", len(page))
				}
			}
			if met != len(rows) {
				t.Errorf("met %d rows on %d pages", met, pages)
			}
		})
	}
}

type alias string

// TestSmallRowsFillAPage says that what a row does not hold itself is not counted.
func TestSmallRowsFillAPage(t *testing.T) {
	type row struct {
		sent  time.Time
		owner *string
		Self  *row
	}
	long := strings.Repeat("a", paging.MaxBytes)
	rows := make([]row, 1000)
	for i := range rows {
		rows[i] = row{sent: time.Now(), owner: &long}
		rows[i].Self = &rows[i]
	}
	page, more := mempage.Page(rows, paging.Query{Limit: 1000}, func(row, string) (any, bool) { return nil, false })
	if len(page) != 1000 || more {
		t.Error(len(page), more)
	}
}

package enginetest

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
	"github.com/tenantkit/tenantkit/scope"
)

// handRow is an adoptedRow for encoding/json.
type handRow struct {
	envelope.Item
	Made  time.Time  `json:"made"`
	Ended *time.Time `json:"ended"`
	Due   *time.Time `json:"due"`
	By    *string    `json:"by"`
	Title string     `json:"title"`
	Size  *int64     `json:"size"`
	State *string    `json:"state"`
}

const handText = `SELECT id, made, ended, due, by_id, title, size, state FROM adopted WHERE tenant_id = $1 ORDER BY id LIMIT 101`

// byHand is what a handler does without a declaration. The statement is prepared.
func byHand(ctx context.Context, query func(context.Context, ...any) (*sql.Rows, error), inTexts bool) ([]byte, error) {
	rows, err := query(ctx, tenants[0])
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var page envelope.List[handRow]
	for rows.Next() {
		var r handRow
		if inTexts {
			var made string
			if err := rows.Scan(&r.ID, &made, &sql.NullString{}, &sql.NullString{}, &r.By, &r.Title, &r.Size, &r.State); err != nil {
				return nil, err
			}
			if r.Made, err = time.Parse(time.RFC3339, made); err != nil {
				return nil, err
			}
		} else if err := rows.Scan(&r.ID, &r.Made, &r.Ended, &r.Due, &r.By, &r.Title, &r.Size, &r.State); err != nil {
			return nil, err
		}
		r.Object = "item"
		page.Data = append(page.Data, r)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if page.HasMore = len(page.Data) > 100; page.HasMore {
		page.Data = page.Data[:100]
	}
	return envelope.Encode(page)
}

// BenchmarkDeclaredList is a list of 100 rows with eight properties, from the query of the request
// to its JSON. The caller reads everything, or only some properties of each row.
func BenchmarkDeclaredList(b *testing.B) {
	for _, e := range adoptedEngines(b) {
		r := newRandom(1)
		items := r.adoptedItems(300)
		for _, i := range items {
			i["tenant"], i["made"], i["title"] = tenants[0], adoptedTimes[2], "A title of some length"
			delete(i, "ended")
			delete(i, "due")
		}
		e.adopt(b, items)
		stmt, err := e.db.Prepare(handText)
		if err != nil {
			b.Fatal(err)
		}
		query := stmt.QueryContext
		if e.dialect == sqlpage.PostgreSQL {
			query = func(ctx context.Context, args ...any) (*sql.Rows, error) {
				return e.db.QueryContext(ctx, handText, args...)
			}
		}
		b.Run(e.name+"/by hand", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := byHand(b.Context(), query, e.dialect == sqlpage.SQLite); err != nil {
					b.Fatal(err)
				}
			}
		})
		for name, chains := range map[string][]string{
			"unscoped":     {"*"},
			"per instance": {"object.read.item.*.title", "object.read.item.*.made", "object.read.item." + items[0].id()},
		} {
			may, err := scope.Compile("bench", chains...)
			if err != nil {
				b.Fatal(err)
			}
			b.Run(e.name+"/declared/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					page, err := adoptedList.Page(b.Context(), e.pages, tenants[0], may,
						"paths[]=made&paths[]=ended&paths[]=by&paths[]=due&paths[]=title&paths[]=size&paths[]=state")
					if err != nil || len(page.Data) != 100 || !page.HasMore {
						b.Fatal(err)
					}
					if _, err := envelope.Encode(page); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		stmt.Close()
	}
}

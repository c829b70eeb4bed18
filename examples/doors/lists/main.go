// Lists pages a table: no row of another tenant, no property beyond the scope, no item twice or never.
package main

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/tenantkit/tenantkit/paging/sqllist"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
	"github.com/tenantkit/tenantkit/scope"
	_ "modernc.org/sqlite"
)

type note struct {
	ID    string `json:"_id" page:"id"`
	_     string `page:"org,tenant"`
	Title string `json:"title" page:"title,filter,sort"`
	Price int    `json:"price" page:"price"`
}

func main() {
	db, _ := sql.Open("sqlite", "file:notes?mode=memory&cache=shared")
	_, _ = db.Exec(`CREATE TABLE notes (id, org, title, price); INSERT INTO notes VALUES ('1', 'acme', 'Anvils', 5), ('2', 'acme', 'Bolts', 6), ('3', 'other', 'Secret', 7)`)
	may, _ := scope.Compile("token", "object.read.note.*.title") // the scope of the caller
	list, pages := sqllist.Must[note](sqllist.Declaration{Table: "notes", Object: "note"}), &sqlpage.Pages{DB: db, Dialect: sqlpage.SQLite}
	for _, query := range []string{"limit=1", `limit=1&where={"_id":{"$gt":"1"}}`} {
		page, err := list.Page(context.Background(), pages, "acme", may, "paths[]=title&paths[]=price&"+query)
		fmt.Printf("%s more: %t %v\n", page.Data, page.HasMore, err)
		_, _ = db.Exec(`DELETE FROM notes WHERE id = '1'`) // an offset would now skip an item
	}
}

// It prints:
// [{"_id":"1","object":"note","title":"Anvils"}] more: true <nil>
// [{"_id":"2","object":"note","title":"Bolts"}] more: false <nil>

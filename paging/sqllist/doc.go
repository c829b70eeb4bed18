// Package sqllist answers list calls from a table of PostgreSQL or SQLite. The struct of an
// item declares the list once, by tags:
//
//	type note struct {
//		envelope.Item `page:"id,uuid"`
//		_     string    `page:"tenant_id,uuid,tenant"`
//		Title string    `json:"title" page:"title,filter,sort"`
//		Body  string    `json:"body" page:"body"`
//		Sent  time.Time `json:"sent" page:"sent_at,filter,sort"`
//	}
//
//	var notes = sqllist.Must[note](sqllist.Declaration{Table: "notes", Object: "note"})
//
// A handler behind an auth.Guard then gives it the principal and the query:
//
//	p := auth.From(r.Context())
//	page, err := notes.Page(r.Context(), pages, string(p.Org), p.Scope, r.URL.RawQuery)
//
// Page is paging.Schema.Parse, sqlpage.Pages and envelope.Select in one: use these where a
// list needs more. Schema and Table return what the tags declare.
//
// # Tags
//
// The tag page has the name of the column and options. The tag json has the path of the
// property. Each exported field needs a tag page; "-" leaves the field out.
//
//	filter        callers can filter by the property
//	sort          callers can sort by it
//	tenant        the column holds the tenant
//	uuid          a column of type uuid: sqlpage.UUID
//	day           a time.Time in a column of type date: sqlpage.Day
//	milliseconds  a time.Time in timestamp(3): sqlpage.Milliseconds
//	enum          a text in a column of an enum: sqlpage.Enum
//	array         []string in text[]: sqlpage.Array; a filter names tags[]
//	bigint        a text in a column of bigint or a smaller integer: sqlpage.BigInt
//
// The tag of an embedded envelope.Item is that of _id, which must be the first field. The
// fields of other embedded structs belong to the struct. A field with the name _ or the JSON
// name "-" is for the server alone. It is never read, callers cannot name it, and its path is
// the name of its column.
//
// The Go type says the rest. A pointer is a column that may be NULL, which is null in JSON, or
// left out by omitempty; any other field is NOT NULL. These are the columns in PostgreSQL; package sqlpage says
// which SQLite needs:
//
//   - string, also with a name of its own: text. An envelope.Enum has its values in documents
//   - int, int64 and smaller integers: bigint or smaller
//   - float64: double precision
//   - json.Number: numeric
//   - bool: boolean
//   - time.Time, envelope.Time: timestamptz; clients see milliseconds. Where the struct is a reply
//     of its own, use envelope.Time: encoding/json writes a time.Time in another spelling
//   - []byte, and types that implement sql.Scanner: any column
//   - json.RawMessage, and other structs, maps and slices: jsonb, or JSON in a text
//
// Callers can filter and sort by the first six, by a type of another form with uuid, and by
// texts, numbers and booleans in a document. The fields of its struct, not below a pointer or
// an embedded struct, then have tags without a column:
//
//	Meta struct {
//		PO *string `json:"po" page:",filter,sort"` // meta.po
//	} `json:"meta" page:"meta"`
//
// A type that writes its JSON itself counts as the last two. With array, NULL among the texts
// is "", or nil in []*string.
//
// There is no tag for sqlpage.Column.UnsafeExpression. Make the expression a column of the table,
// or of a view with an index on the expression.
//
// # Numbers as ids
//
// An _id is a text for clients, also if the column is bigint:
//
//	envelope.Item `page:"id,bigint"`
//
// The page is in the order of the numbers: 1, 2, 10. Scope chains such as object.read.note.10
// need a grammar with such identifiers, or routes with {id} answer 404: set
// Guard.Scopes to &scope.Grammar{Identifier: sqlpage.Digits}. List.Check refuses another one.
//
// # Only one's own rows
//
// Declaration.Where names the properties that each call compares with one value:
//
//	var own = sqllist.Must[job](sqllist.Declaration{Table: "jobs", Object: "job", Where: []string{"technician"}})
//
//	page, err := own.Where("technician", p.Account).Page(r.Context(), pages, string(p.Org), p.Scope, r.URL.RawQuery)
//
// The value is beside the tenant in the statement: no argument of the caller reaches another row,
// and a call without it is an error. Indexes and Check know of it. A second declaration of the
// same struct, without Where, is the list of those who see all rows.
//
// # Why tags
//
// Nothing is looked up in the struct for a request or a row. A declaration keeps structs in
// which the addresses of the fields were found before. Each row is scanned into such a
// struct and written to the reply. Nothing of the row stays in the struct.
//
// # What a caller gets
//
// The rows of the tenant that the caller's scope has, with the properties that the caller
// asks for and may read. Only the columns of these properties are read from the database.
// Unknown arguments are refused. A reply has at most paging.MaxBytes and the last item of each
// list: a page or a list in it that would have more ends earlier, and says hasMore. With Declaration.Count, count=true adds the total of what the
// caller can see.
//
// Page makes no Link header, because the reply need not have the properties that the link needs.
// Use paging.Schema.NextLink with items that have the keys of the sort.
//
// # Lists in lists
//
// A list property of the items is a list of its own, with a column for the _id of the object:
//
//	var tickets = sqllist.Must[ticket](sqllist.Declaration{
//		Table: "tickets", Object: "ticket",
//		Lists: map[string]sqllist.Items{"comments": {List: comments, Parent: "ticket_id"}},
//	})
//
// Its items belong to the object, and so do the chains that show them:
// object.read.ticket.*.comments.text. Chains on comment change nothing here. One statement
// reads the list of all objects of a page, at most 10,000 items together. So on a page of 500
// objects each list has at most 20 items, whatever its limit says; hasMore tells the caller.
// If the items of a list have too many bytes, the page ends with the last object whose lists
// are known. A skip times the number of objects is at most 10,000.
//
// The index for it begins with the tenant and the column:
//
//	sqlpage.Indexes(*comments.Schema(), comments.Table(), sqlpage.PostgreSQL, "ticket_id")
//
// # What is not checked
//
// New checks the struct. List.Check compares it with the database and the Guard.
// The tenant and the scope must be those of the principal that the Guard admitted, never
// arguments of the request.
//
// # Compatibility
//
// Structs only gain fields: write their literals with field names. Options of tags keep
// their meaning. The texts of errors may change.
package sqllist

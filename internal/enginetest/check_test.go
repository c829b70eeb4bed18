package enginetest

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
)

// checked is a list that a mistake is made in.
type checked struct {
	schema paging.Schema
	table  sqlpage.Table
	within []string
}

func (c *checked) column(path string, change func(*sqlpage.Column)) {
	column := c.table.Properties[path]
	change(&column)
	c.table.Properties[path] = column
}

func (c *checked) property(p paging.Property) { c.schema.Properties = append(c.schema.Properties, p) }

// check checks the adopted table after a mistake.
func (e *engine) check(t testing.TB, mistake func(*checked)) error {
	t.Helper()
	c := checked{schema: adoptedSchema, table: adoptedBy(e.dialect)}
	c.schema.Properties = append([]paging.Property{}, adoptedSchema.Properties...)
	c.table.Properties = maps.Clone(c.table.Properties)
	if mistake != nil {
		mistake(&c)
	}
	return sqlpage.Check(t.Context(), e.db, e.dialect, c.schema, c.table, c.within...)
}

func TestCheckOfAGoodTable(t *testing.T) {
	for _, e := range adoptedEngines(t) {
		t.Run(e.name, func(t *testing.T) {
			if err := e.check(t, nil); err != nil {
				t.Error(err)
			}
			e.adopt(t, newRandom(1).adoptedItems(50))
			e.exec(t, "ANALYZE")
			if err := e.check(t, nil); err != nil {
				t.Error("with rows: ", err)
			}
			e.exec(t, "CREATE VIEW adopted_view AS SELECT * FROM adopted WHERE title <> 'deleted'")
			defer e.exec(t, "DROP VIEW adopted_view")
			if err := e.check(t, func(c *checked) { c.table.Name = "adopted_view" }); err != nil {
				t.Error("through a view: ", err)
			}
			within := func(c *checked) { c.within = []string{"by", "size"} }
			if err := e.check(t, within); err == nil || !strings.Contains(err.Error(), "adopted_tenant_by_size_title__id") {
				t.Error("within, and without their indexes: ", err)
			}
			indexes, err := sqlpage.Indexes(adoptedSchema, e.table, e.dialect, "by", "size")
			if err != nil {
				t.Fatal(err)
			}
			for _, index := range indexes {
				e.exec(t, index)
			}
			if err := e.check(t, within); err != nil {
				t.Error("within: ", err)
			}
		})
	}
	for _, e := range engines(t, "checked") {
		t.Run("shared by all tenants, "+e.name, func(t *testing.T) {
			e.table.Object = "item"
			if err := sqlpage.Check(t.Context(), e.db, e.dialect, schema, e.table); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCheckOfOtherTables has partitions and views with the indexes of Indexes, or with partial ones.
func TestCheckOfOtherTables(t *testing.T) {
	e := adoptedEngines(t)[1]
	const one = "'5ca1ab1e-0000-4000-8000-000000000001'"
	for name, test := range map[string]struct {
		create  string
		drop    string
		indexes func([]string) []string
	}{
		"partitioned by time": {create: `CREATE TABLE other (LIKE adopted) PARTITION BY RANGE (made);
			CREATE TABLE other_old PARTITION OF other FOR VALUES FROM ('2020-01-01') TO ('2026-01-01'); CREATE TABLE other_rest PARTITION OF other DEFAULT`},
		"partitioned by the tenant": {create: `CREATE TABLE other (LIKE adopted) PARTITION BY HASH (tenant_id);
			CREATE TABLE other_0 PARTITION OF other FOR VALUES WITH (MODULUS 2, REMAINDER 0); CREATE TABLE other_1 PARTITION OF other FOR VALUES WITH (MODULUS 2, REMAINDER 1)`},
		"one partition for each tenant": {create: `CREATE TABLE other (LIKE adopted) PARTITION BY LIST (tenant_id); CREATE TABLE other_1 PARTITION OF other FOR VALUES IN (` + one + `)`},
		"a materialized view":           {create: "CREATE MATERIALIZED VIEW other AS SELECT * FROM adopted", drop: "DROP MATERIALIZED VIEW other"},
		"a view that joins": {
			create:  "CREATE TABLE others (id uuid PRIMARY KEY, kind text); CREATE VIEW other AS SELECT adopted.* FROM adopted LEFT JOIN others ON others.id = by_id WHERE kind IS DISTINCT FROM 'bot'",
			drop:    "DROP TABLE others CASCADE",
			indexes: func([]string) []string { return nil },
		},
		"a view over partial indexes": {
			create: "CREATE TABLE others (LIKE adopted); CREATE VIEW other AS SELECT * FROM others WHERE title <> 'deleted'",
			drop:   "DROP TABLE others CASCADE",
			indexes: func(indexes []string) (partial []string) {
				for _, index := range indexes {
					partial = append(partial, strings.Replace(index, ` ON "other"`, ` ON "others"`, 1)+" WHERE title <> 'deleted'")
				}
				return partial
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			e.exec(t, test.create)
			defer e.exec(t, cmp.Or(test.drop, "DROP TABLE other"))
			table := adoptedBy(e.dialect)
			table.Name = "other"
			indexes, err := sqlpage.Indexes(adoptedSchema, table, e.dialect)
			if err != nil {
				t.Fatal(err)
			}
			if test.indexes != nil {
				indexes = test.indexes(indexes)
			}
			for _, index := range indexes {
				e.exec(t, index)
			}
			if err := sqlpage.Check(t.Context(), e.db, e.dialect, adoptedSchema, table); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCheckFinds makes each mistake, and looks for a text that says what to change.
func TestCheckFinds(t *testing.T) {
	const both, onlyPostgres, onlySQLite = sqlpage.Dialect(0), sqlpage.PostgreSQL, sqlpage.SQLite
	for _, e := range adoptedEngines(t) {
		for _, test := range []struct {
			name    string
			of      sqlpage.Dialect
			change  string // of the database
			undo    string
			mistake func(*checked)
			want    []string // one text for each problem
		}{
			{"a property without a column", both, "", "", func(c *checked) {
				c.property(paging.Property{Path: "nosuch", Type: paging.String, Filter: true})
			}, []string{"nosuch: callers may filter or sort by it: give it a column in the Table"}},
			{"a hidden property without a column", both, "", "", func(c *checked) {
				c.property(paging.Property{Path: "nosuch", Type: paging.String, Filter: true, Sort: true, Hidden: true})
			}, nil},
			{"a property of another type", both, "", "", func(c *checked) {
				c.schema.Properties[4].Type = paging.Integer
			}, []string{"title: is integer in the Schema and string in the Table"}},
			{"an integer for a number", both, "", "", func(c *checked) { c.schema.Properties[5].Type = paging.Number }, nil},
			{"no object", both, "", "", func(c *checked) { c.table.Object = "" }, []string{"object: every caller may filter by it: set Object"}},
			{"an object that a column of texts says", both, "", "", func(c *checked) {
				c.table.Object, c.table.Properties["object"] = "", c.table.Properties["title"]
			}, nil},
			{"no tenant", both, "", "", func(c *checked) { c.table.Tenant = "" }, []string{"set either Tenant or SharedByAllTenants"}},
			{"no table", both, "", "", func(c *checked) { c.table.Name = "adapted" }, []string{"table adapted: there is no such table or view, or it is not in the search path"}},
			{"no such schema", both, "", "", func(c *checked) { c.table.Name = "nowhere.adopted" }, []string{"there is no such table or view"}},
			{"a column that is not there", both, "", "", func(c *checked) {
				c.column("size", func(c *sqlpage.Column) { c.Name = "width" })
			}, []string{"size: there is no column width"}},
			{"a selected column that is not there", both, "", "", func(c *checked) { c.table.Select = []string{"id", "body"} }, []string{"Select: there is no column body"}},
			{"an expression over no column", both, "", "", func(c *checked) {
				c.column("label", func(c *sqlpage.Column) { c.UnsafeExpression = "lower(width)" })
			}, []string{"width"}},
			{"NotNull that is not declared", both, "", "", func(c *checked) {
				c.column("due", func(c *sqlpage.Column) { c.NotNull = true })
			}, []string{"due: NotNull is set, but the column may be NULL: declare it NOT NULL, or leave NotNull out"}},
			{"two mistakes", both, "", "", func(c *checked) {
				c.column("size", func(c *sqlpage.Column) { c.Name = "width" })
				c.property(paging.Property{Path: "nosuch", Type: paging.String, Sort: true})
			}, []string{"nosuch: callers may", "size: there is no column width"}},
			{"an integer for a text", both, "", "", func(c *checked) {
				c.column("title", func(c *sqlpage.Column) { c.Name = "size" })
			}, []string{"title: is "}},
			{"no index on the ids of a tenant", both, "DROP INDEX adopted_tenant__id", `CREATE INDEX adopted_tenant__id ON adopted (tenant_id, id)`, nil,
				[]string{"_id: a sort by it", `CREATE INDEX IF NOT EXISTS "adopted_tenant__id" ON "adopted"`}},
			{"no index for one direction", both, "DROP INDEX adopted_tenant_ended_desc__id", "", nil,
				[]string{`ended: a sort by it has no index: create` + "\n\t" + `CREATE INDEX IF NOT EXISTS "adopted_tenant_ended_desc__id"`}},
			{"an index with the tenant after the ids", onlyPostgres, "DROP INDEX adopted_tenant__id; DELETE FROM adopted; ANALYZE adopted; CREATE INDEX adopted_late ON adopted (id, tenant_id)", "", nil,
				[]string{"_id: a sort by it has no index"}},
			{"that index beside the right one", onlyPostgres, "CREATE INDEX adopted_later ON adopted (id, tenant_id)", "", nil, nil},
			{"an index without the tenant", both, "CREATE INDEX alone ON adopted (size, id)", "", func(c *checked) {
				c.schema.Properties[4].Sort = false
			}, nil},

			{"uuid without Storage", onlyPostgres, "", "", func(c *checked) {
				c.column("by", func(c *sqlpage.Column) { c.Storage = 0 })
			}, []string{"by: is uuid in the database, and the Table needs text or character varying: set Storage: sqlpage.UUID"}},
			{"a tenant of uuid without Storage", onlyPostgres, "", "", func(c *checked) {
				c.column("tenant", func(c *sqlpage.Column) { c.Storage = 0 })
			}, []string{"tenant: is uuid"}},
			{"an enum without Storage", onlyPostgres, "", "", func(c *checked) {
				c.column("state", func(c *sqlpage.Column) { c.Storage = 0 })
			}, []string{"state: is enum in the database, and the Table needs text or character varying: set Storage: sqlpage.Enum"}},
			{"a number for the _id", onlyPostgres, "", "", func(c *checked) {
				c.column("_id", func(c *sqlpage.Column) { c.Name, c.Storage, c.NotNull = "size", 0, false })
			}, []string{"_id: is bigint in the database", "Storage: sqlpage.BigInt for an _id"}},
			{"a number cast for the _id, with an index of another name", onlyPostgres, "CREATE INDEX adopted_size_text ON adopted (tenant_id, (size::text) COLLATE \"C\")", "", func(c *checked) {
				c.schema.Properties = nil
				c.column("_id", func(c *sqlpage.Column) {
					*c = sqlpage.Column{UnsafeExpression: "size::text", Type: paging.String, NotNull: true}
				})
			}, []string{"_id: a sort by it has no index"}},
			{"a sort by an enum", onlyPostgres, "", "", func(c *checked) { c.schema.Properties[7].Sort = true },
				[]string{`state: callers may sort by it: PostgreSQL cannot index the order of an enum`}},
			{"Milliseconds for microseconds", onlyPostgres, "", "", func(c *checked) {
				c.column("ended", func(c *sqlpage.Column) { c.Storage = sqlpage.Milliseconds })
			}, []string{"ended: is timestamp with time zone, and Milliseconds needs timestamp(3) with time zone: leave Storage out"}},
			{"a date without Day", onlyPostgres, "", "", func(c *checked) {
				c.column("due", func(c *sqlpage.Column) { c.Storage = 0 })
			}, []string{"due: is date in the database", "set Storage: sqlpage.Day"}},
			{"citext", onlyPostgres, "", "", func(c *checked) {
				c.column("title", func(c *sqlpage.Column) { c.Name = "insensitive" })
			}, []string{"title: is citext in the database", "UnsafeExpression to the cast, such as email::text", "NotNull"}},
			{"a local time", onlyPostgres, "", "", func(c *checked) {
				c.column("made", func(c *sqlpage.Column) { c.Name = "local" })
			}, []string{"made: is timestamp without time zone", "make it timestamp with time zone", "NotNull"}},
			{"json", onlyPostgres, "", "", func(c *checked) {
				c.column("meta.po", func(c *sqlpage.Column) { c.Name = "plain" })
			}, []string{"meta.po: is json in the database, and the Table needs jsonb: make it jsonb"}},
			{"character", onlyPostgres, "", "", func(c *checked) {
				c.column("label", func(c *sqlpage.Column) { c.Name, c.UnsafeExpression, c.NotNull = "blanks", "", false })
			}, []string{"label: is character in the database"}},
			{"float for numeric", onlyPostgres, "", "", func(c *checked) {
				c.column("price", func(c *sqlpage.Column) { c.Name = "float" })
			}, []string{"price: is double precision", "set Storage: sqlpage.Double"}},
			{"domains over text", onlyPostgres, "", "", func(c *checked) {
				c.schema.Properties[4].Sort = false
				c.column("title", func(c *sqlpage.Column) { c.Name = "named" })
			}, nil},
			{"an array of texts that are equal without case", onlyPostgres, "", "", func(c *checked) {
				c.column("tags[]", func(c *sqlpage.Column) { c.Name = "loose" })
			}, []string{"tags[]: has a nondeterministic collation"}},
			{"an array of integers", onlyPostgres, "", "", func(c *checked) {
				c.column("tags[]", func(c *sqlpage.Column) { c.Name = "integers" })
			}, []string{"tags[]: is integer[] in the database, and the Table needs text[]"}},
			{"an array of varchar", onlyPostgres, "", "", func(c *checked) {
				c.column("tags[]", func(c *sqlpage.Column) { c.Name = "varchars" })
			}, []string{"tags[]: is character varying[] in the database, and the Table needs text[]: make it text[], or set UnsafeExpression to the cast"}},
			{"an array of varchar with a cast", onlyPostgres, "", "", func(c *checked) {
				c.column("tags[]", func(c *sqlpage.Column) { c.Name, c.UnsafeExpression = "", "varchars::text[]" })
			}, nil},
			{"an expression of another type", onlyPostgres, "", "", func(c *checked) {
				c.column("er", func(c *sqlpage.Column) { c.UnsafeExpression = "meta ->> 'er'" })
			}, []string{"er: is text in the database, and the Table needs numeric"}},
			{"an index of another collation", onlyPostgres, "DROP INDEX adopted_tenant_title__id; CREATE INDEX adopted_tenant_title__id ON adopted (tenant_id, title, id)", "", nil,
				[]string{"title: a sort by it has no index", `"title" COLLATE "C"`}},

			{"a table that is not STRICT", onlySQLite, "", "", func(c *checked) { c.table.Name = "lenient" }, []string{"the table is not STRICT"}},
			{"a date in an INTEGER", onlySQLite, "", "", func(c *checked) {
				c.column("made", func(c *sqlpage.Column) { c.Name, c.NotNull = "size", false })
			}, []string{"made: is integer in the database, and the Table needs text"}},
		} {
			if test.of != both && test.of != e.dialect {
				continue
			}
			t.Run("P26b "+e.name+"/"+test.name, func(t *testing.T) {
				e.moreColumns(t)
				if test.change != "" {
					e.exec(t, test.change)
					defer e.indexed(t)
				}
				err := e.check(t, test.mistake)
				if test.want == nil {
					if err != nil {
						t.Error(err)
					}
					return
				}
				for _, want := range test.want {
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("%v\nwithout: %s", err, want)
					}
				}
			})
		}
	}
}

// moreColumns makes tables and columns for mistakes, once.
func (e *engine) moreColumns(t *testing.T) {
	t.Helper()
	if e.dialect == sqlpage.SQLite {
		e.exec(t, "CREATE TABLE IF NOT EXISTS lenient AS SELECT * FROM adopted WHERE FALSE")
		return
	}
	e.exec(t, `CREATE EXTENSION IF NOT EXISTS citext`)
	e.exec(t, `DO $$ BEGIN CREATE DOMAIN adopted_name AS text NOT NULL; CREATE DOMAIN adopted_title AS adopted_name CHECK (VALUE <> 'x');
		CREATE COLLATION adopted_loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false); EXCEPTION WHEN duplicate_object THEN NULL; END $$`)
	e.exec(t, `ALTER TABLE adopted ADD COLUMN IF NOT EXISTS insensitive citext, ADD COLUMN IF NOT EXISTS local timestamp, ADD COLUMN IF NOT EXISTS plain json,
		ADD COLUMN IF NOT EXISTS blanks char(9), ADD COLUMN IF NOT EXISTS float double precision, ADD COLUMN IF NOT EXISTS named adopted_title,
		ADD COLUMN IF NOT EXISTS loose text[] COLLATE adopted_loose, ADD COLUMN IF NOT EXISTS integers integer[],
		ADD COLUMN IF NOT EXISTS varchars varchar(9)[]`)
}

// indexed makes the indexes of Indexes again.
func (e *engine) indexed(t *testing.T) {
	t.Helper()
	e.exec(t, "DROP INDEX IF EXISTS adopted_tenant_title__id")
	indexes, err := sqlpage.Indexes(adoptedSchema, e.table, e.dialect)
	if err != nil {
		t.Fatal(err)
	}
	for _, index := range indexes {
		e.exec(t, index)
	}
}

// TestCheckNeedsOnlySELECT has a role with no other right, in sessions that cannot write.
func TestCheckNeedsOnlySELECT(t *testing.T) {
	t.Run("PostgreSQL", func(t *testing.T) {
		e := adoptedEngines(t)[1]
		e.exec(t, "CREATE ROLE adopted_reader")
		defer e.exec(t, "DROP ROLE adopted_reader")
		db, err := sql.Open("pgx", started.server.source+"&options=-crole%3Dadopted_reader%20-cdefault_transaction_read_only%3Don")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		reader := &engine{name: e.name, db: db, dialect: e.dialect}
		if err := reader.check(t, nil); err == nil || !strings.Contains(err.Error(), "permission denied") {
			t.Errorf("without any right: %v", err)
		}
		e.exec(t, "GRANT SELECT ON adopted TO adopted_reader")
		defer e.exec(t, "REVOKE ALL ON adopted FROM adopted_reader")
		if err := reader.check(t, nil); err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := sqlpage.Check(ctx, db, e.dialect, adoptedSchema, adoptedBy(e.dialect)); !errors.Is(err, context.Canceled) {
			t.Errorf("after the end of its context: %v", err)
		}
	})
	t.Run("SQLite", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "adopted.db")
		db, err := sql.Open("sqlite", file)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		table := newEngine(t, "SQLite", db, sqlpage.SQLite, "checked").table
		table.Object = "item"
		readOnly, err := sql.Open("sqlite", "file:"+file+"?mode=ro")
		if err != nil {
			t.Fatal(err)
		}
		defer readOnly.Close()
		if err := sqlpage.Check(t.Context(), readOnly, sqlpage.SQLite, schema, table); err != nil {
			t.Error(err)
		}
	})
}

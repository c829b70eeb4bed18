package enginetest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/sqllist"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
	"github.com/tenantkit/tenantkit/paging/walk"
	"github.com/tenantkit/tenantkit/scope"
)

// workJob has ids of bigint and a technician whose job it is.
type workJob struct {
	envelope.Item `page:"id,bigint"`
	_             string `page:"company_id,bigint,tenant"`
	Technician    string `json:"technician" page:"technician,uuid,filter"`
	Title         string `json:"title" page:"title,filter,sort"`
}

type part struct {
	envelope.Item `page:"id,bigint"`
	_             string `page:"company_id,bigint,tenant"`
	_             string `page:"job_id,bigint"`
	Name          string `json:"name" page:"name,filter,sort"`
}

var (
	parts    = sqllist.Must[part](sqllist.Declaration{Table: "parts", Object: "part"})
	lists    = map[string]sqllist.Items{"parts": {List: parts, Parent: "job_id"}}
	jobs     = sqllist.Must[workJob](sqllist.Declaration{Table: "jobs", Object: "job", Count: true, Lists: lists})
	ownJobs  = sqllist.Must[workJob](sqllist.Declaration{Table: "jobs", Object: "job", Count: true, Lists: lists, Where: []string{"technician"}})
	digitsOf = &scope.Grammar{Identifier: sqlpage.Digits}
)

const (
	mia = "5b000000-0000-4000-8000-00000000000a"
	ben = "5b000000-0000-4000-8000-00000000000b"
)

// jobRow is a row of the table of jobs.
type jobRow struct {
	id, company       int64
	technician, title string
}

func jobEngines(t testing.TB) (all []*engine, rows []jobRow) {
	t.Helper()
	all = []*engine{{name: "SQLite", db: sqlite(t), dialect: sqlpage.SQLite}, {name: "PostgreSQL", db: postgres(t), dialect: sqlpage.PostgreSQL}}
	for id := range int64(130) {
		rows = append(rows, jobRow{id*7 - 20, 1 + id%2, []string{mia, ben}[id/2%2], fmt.Sprint("job ", id%5)})
	}
	for _, e := range all {
		e.pages = &sqlpage.Pages{DB: e.db, Dialect: e.dialect}
		for _, create := range []string{
			"CREATE TABLE jobs (id bigint PRIMARY KEY, company_id bigint NOT NULL, technician uuid NOT NULL, title text NOT NULL);",
			"CREATE TABLE parts (id bigint PRIMARY KEY, company_id bigint NOT NULL, job_id bigint NOT NULL, name text NOT NULL);",
		} {
			if e.dialect == sqlpage.SQLite {
				create = strings.NewReplacer("uuid", "TEXT", "bigint", "INTEGER", ");", ") STRICT").Replace(create)
			}
			e.exec(t, create)
		}
		t.Cleanup(func() { e.exec(t, "DROP TABLE jobs; DROP TABLE parts") })
		for _, r := range rows {
			e.exec(t, "INSERT INTO jobs VALUES ($1, $2, $3, $4)", r.id, r.company, r.technician, r.title)
			e.exec(t, "INSERT INTO parts VALUES ($1, $2, $3, $4)", r.id+1000, r.company, r.id, "a part")
		}
		for _, l := range []*sqllist.List{jobs, ownJobs} {
			indexes, err := l.Indexes(e.dialect)
			if err != nil {
				t.Fatal(err)
			}
			for _, index := range indexes {
				e.exec(t, index)
			}
		}
		indexes, err := sqlpage.Indexes(*parts.Schema(), parts.Table(), e.dialect, "job_id")
		if err != nil {
			t.Fatal(err)
		}
		for _, index := range indexes {
			e.exec(t, index)
		}
	}
	return all, rows
}

// TestOwnRows is P33: a list with a Where answers the rows of its value, in the order of the
// numbers, whatever the arguments ask for. Without a value it answers an error.
func TestOwnRows(t *testing.T) {
	all, rows := jobEngines(t)
	idOf := func(r jobRow) string { return strconv.FormatInt(r.id, 10) }
	for _, e := range all {
		t.Run("P33 "+e.name, func(t *testing.T) {
			for _, query := range []string{
				"limit=1000", "limit=1000&sort=title", "limit=1000&count=true", `where={"technician":"` + ben + `"}`, "limit=1000&skip=3&sort=-title",
				`limit=1000&where={"$or":[{"technician":"` + ben + `"},{"_id":{"$ne":"1"}}]}`, `limit=1000&where={"_id":{"$gt":"8"}}`, `limit=1000&where={"_id":{"$in":["1","8","008","x","","9"]}}`,
				`limit=1000&where={"_id":{"$lt":"08"}}`, `limit=1000&where={"$nor":[{"technician":"` + mia + `"}]}`, "limit=1000&paths[]=technician&paths[]=parts",
			} {
				values, err := url.ParseQuery(query)
				if err != nil {
					t.Fatal(err)
				}
				for _, chains := range []string{"*", "object.read.job.8 object.read.job.1 object.read.job.15", "object.read.job.22"} {
					may, err := digitsOf.Compile("test", strings.Fields(chains)...)
					if err != nil {
						t.Fatal(err)
					}
					if strings.Contains(values.Get("sort")+values.Get("where"), "t") && chains != "*" {
						continue
					}
					values.Set("sort", strings.TrimPrefix(values.Get("sort"), "-"))
					if values.Get("sort") == "" {
						values.Del("sort")
					}
					// What a caller sees of the list of all rows, with the condition as a filter of its own.
					everything, err := jobs.Page(t.Context(), e.pages, "1", may, values.Encode())
					if err != nil {
						t.Fatal(query, err)
					}
					own, err := ownJobs.Where("technician", mia).Page(t.Context(), e.pages, "1", may, values.Encode())
					if err != nil {
						t.Fatal(query, err)
					}
					var got []string
					for _, text := range own.Data {
						var i envelope.Item
						if err := json.Unmarshal(text, &i); err != nil {
							t.Fatal(err)
						}
						at := slices.IndexFunc(rows, func(r jobRow) bool { return idOf(r) == i.ID })
						if rows[at].technician != mia || rows[at].company != 1 {
							t.Errorf("%s: %s is not mia's", query, i.ID)
						}
						got = append(got, i.ID)
					}
					if values.Get("skip") != "" {
						continue
					}
					var want []string
					for _, text := range everything.Data {
						var i envelope.Item
						if err := json.Unmarshal(text, &i); err != nil {
							t.Fatal(err)
						}
						if at := slices.IndexFunc(rows, func(r jobRow) bool { return idOf(r) == i.ID }); rows[at].technician == mia {
							want = append(want, i.ID)
						}
					}
					if !slices.Equal(want, got) {
						t.Errorf("%s %s: %v, want %v", chains, query, got, want)
					}
					if own.Total != nil && own.Total.Items != len(want) {
						t.Errorf("%s: a total of %d", query, own.Total.Items)
					}
				}
			}
			if _, err := ownJobs.Where("technician", ben).Get(t.Context(), e.pages, "1", scope.Unscoped(), idOf(rows[0]), ""); !errors.Is(err, sqllist.ErrNotFound) {
				t.Error("ben gets mia's job:", err)
			}
			if _, err := ownJobs.Where("technician", mia).Get(t.Context(), e.pages, "1", scope.Unscoped(), idOf(rows[0]), "paths[]=parts"); err != nil {
				t.Error(err)
			}
			for name, p := range map[string]*sqllist.List{
				"an empty value":      ownJobs.Where("technician", ""),
				"no UUID":             ownJobs.Where("technician", "mia"),
				"another property":    ownJobs.Where("title", "x"),
				"one property more":   ownJobs.Where("technician", mia).Where("title", "job 1"),
				"a list without such": jobs.Where("technician", mia),
			} {
				_, err := p.Page(t.Context(), e.pages, "1", scope.Unscoped(), "")
				_, getErr := p.Get(t.Context(), e.pages, "1", scope.Unscoped(), "1", "")
				if !errors.Is(err, sqlpage.ErrProgram) || !errors.Is(getErr, sqlpage.ErrProgram) {
					t.Errorf("P33 %s: %v, %v", name, err, getErr)
				}
			}
			if _, err := ownJobs.Page(t.Context(), e.pages, "1", scope.Unscoped(), ""); !errors.Is(err, sqlpage.ErrProgram) {
				t.Error("P33 forgotten:", err)
			}
			// A value of one call is not that of another.
			p := ownJobs.Where("technician", ben)
			p.Where("technician", mia)
			if _, err := p.Get(t.Context(), e.pages, "1", scope.Unscoped(), idOf(rows[0]), ""); !errors.Is(err, sqllist.ErrNotFound) {
				t.Error(err)
			}
		})
	}
}

// TestOwnRowsAreChecked is P34 and P35: List.Check finds a grammar without identifiers for the ids,
// and missing indexes, also of the Where and of lists in the list.
func TestOwnRowsAreChecked(t *testing.T) {
	all, _ := jobEngines(t)
	for _, e := range all {
		t.Run("P34 "+e.name, func(t *testing.T) {
			if err := cmp.Or(jobs.Check(t.Context(), e.db, e.dialect, digitsOf), ownJobs.Check(t.Context(), e.db, e.dialect, digitsOf)); err != nil {
				t.Error(err)
			}
			for _, grammar := range []*scope.Grammar{nil, {}} {
				if err := jobs.Check(t.Context(), e.db, e.dialect, grammar); err == nil || !strings.Contains(err.Error(), "set Guard.Scopes") {
					t.Error("P34 the standard grammar has no chain for an _id of bigint:", err)
				}
			}
		})
		t.Run("P35 "+e.name, func(t *testing.T) {
			e.exec(t, `DROP INDEX "jobs_company_id_technician_title__id"`)
			err := ownJobs.Check(t.Context(), e.db, e.dialect, digitsOf)
			if err == nil || !strings.Contains(err.Error(), `CREATE INDEX IF NOT EXISTS "jobs_company_id_technician_title__id" ON "jobs" ("company_id", "technician"`) {
				t.Error(err)
			}
			e.exec(t, `DROP INDEX "parts_company_id_job_id_name__id"`)
			if err := jobs.Check(t.Context(), e.db, e.dialect, digitsOf); err == nil || !strings.Contains(err.Error(), `"parts_company_id_job_id_name__id"`) {
				t.Error("a list in the list:", err)
			}
			long := make([]byte, 6000) // that does not become shorter by compression
			for i := range long {
				long[i] = byte('!' + newRandom(i).IntN(90))
			}
			e.exec(t, `DROP INDEX "jobs_company_id_title__id"`)
			e.exec(t, `DROP INDEX "jobs_company_id_technician_title_desc__id"`)
			e.exec(t, `DROP INDEX "jobs_company_id_title_desc__id"`)
			e.exec(t, "UPDATE jobs SET title = $1 WHERE id = 1", string(long))
			err = jobs.Check(t.Context(), e.db, e.dialect, digitsOf)
			if err == nil || strings.Contains(err.Error(), "The longest text has 6000 bytes.") != (e.dialect == sqlpage.PostgreSQL) {
				t.Error("P35", err)
			}
			if _, err := e.db.ExecContext(t.Context(), `CREATE INDEX too_long ON jobs (title)`); (err != nil) != (e.dialect == sqlpage.PostgreSQL) {
				t.Error("P35", err)
			}
			if e.dialect == sqlpage.PostgreSQL {
				table := jobs.Table()
				table.Properties = map[string]sqlpage.Column{"_id": {Name: "id", Type: paging.String, NotNull: true}, "company_id": table.Properties["company_id"]}
				if err := sqlpage.Check(t.Context(), e.db, e.dialect, paging.Schema{Object: "job"}, table); err == nil || !strings.Contains(err.Error(), "sqlpage.BigInt") {
					t.Error(err)
				}
			}
		})
	}
}

// TestWalksByNumbers has a client walk a list whose ids are numbers, by each order.
func TestWalksByNumbers(t *testing.T) {
	all, rows := jobEngines(t)
	for _, e := range all {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			page, err := jobs.Page(r.Context(), e.pages, "2", scope.Unscoped(), r.URL.RawQuery)
			if err != nil {
				auth.Fail(w, r, err)
				return
			}
			auth.Reply(w, r, page)
		}))
		defer server.Close()
		for name, sort := range map[string][]paging.Key{
			"by _id": nil, "by _id, downwards": {{Path: "_id", Desc: true}}, "by title": {{Path: "title"}}, "by title, downwards": {{Path: "title", Desc: true}},
		} {
			t.Run(name+" in "+e.name, func(t *testing.T) {
				var got, want []int64
				list := walk.List[envelope.Item]{URL: server.URL, Query: paging.Query{Sort: sort, Limit: 7}}
				for i, err := range list.All(t.Context()) {
					if err != nil {
						t.Fatal(err)
					}
					n, _ := strconv.ParseInt(i.ID, 10, 64)
					got = append(got, n)
				}
				for _, r := range rows {
					if r.company == 2 {
						want = append(want, r.id)
					}
				}
				if name == "by _id, downwards" {
					slices.Reverse(want)
				}
				if strings.Contains(name, "title") {
					slices.Sort(got)
				}
				if !slices.Equal(want, got) {
					t.Errorf("%v, want %v", got, want)
				}
			})
		}
	}
}

package sqlstore_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/audit"
	"github.com/tenantkit/tenantkit/auth/idempotency"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/token"
)

// engine is a fake database engine with settings that the engines of the other tests
// cannot have.
type engine struct {
	settings map[string]string
	fails    map[string]error // errors of statements, by a part of their text
	stale    bool             // whether an Issue has records to delete
	none     bool             // whether an INSERT returns no row, and the audit log has none
	closed   int              // connections
	sent     int              // statements
}

func (e *engine) Connect(context.Context) (driver.Conn, error) { return connection{e}, nil }
func (e *engine) Driver() driver.Driver                        { return nil }

type connection struct{ *engine }

func (c connection) Close() error              { c.closed++; return nil }
func (c connection) Begin() (driver.Tx, error) { return nil, errors.ErrUnsupported }
func (c connection) Prepare(query string) (driver.Stmt, error) {
	return statement{c, query}, nil
}

type statement struct {
	connection
	query string
}

func (s statement) Close() error  { return nil }
func (s statement) NumInput() int { return -1 }
func (s statement) Exec([]driver.Value) (driver.Result, error) {
	if strings.Contains(s.query, "SET probe") {
		return driver.RowsAffected(1), nil
	}
	return nil, errors.ErrUnsupported
}
func (s statement) Query([]driver.Value) (driver.Rows, error) {
	return s.QueryContext(context.Background(), s.query, nil)
}

func (c connection) ExecContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Result, error) {
	c.sent++
	for part, err := range c.fails {
		if strings.Contains(query, part) {
			return nil, err
		}
	}
	return driver.RowsAffected(1), nil
}

func (c connection) QueryContext(_ context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	c.sent++
	if strings.Contains(query, "pg_settings") || strings.Contains(query, "sqlite_version") {
		var all rows
		for name, setting := range c.settings {
			all = append(all, []driver.Value{name, setting})
		}
		return &all, nil
	}
	if strings.Contains(query, "current_setting") || strings.Contains(query, "'off'") { // the place
		return &rows{{"/file", "", "off", "2"}}, nil
	}
	switch {
	case c.none && (strings.Contains(query, "INSERT") || strings.Contains(query, "_audit")):
		return &noRows{}, nil
	case strings.HasPrefix(query, "SELECT fence, sealed"), strings.Contains(query, "RETURNING fence, sealed"):
		return &rows{{"fence", []byte("sealed")}}, nil
	case strings.Contains(query, "maker, maker_app, parent"):
		return &rows{{"ann", "app", "up", "ci", int64(0)}}, nil
	case strings.HasPrefix(query, "SELECT probe"):
		return &rows{{nil}}, nil
	case strings.Contains(query, "max(version)"):
		return &rows{{int64(9)}}, nil
	case strings.Contains(query, "relpersistence"):
		return &rows{{strings.HasSuffix(args[0].Value.(string), "_marks")}}, nil
	case strings.Contains(query, "count(*)"):
		return &rows{{int64(0), int64(0), int64(0), int64(0), int64(0), c.stale}}, nil
	}
	return &rows{{int64(1)}}, nil
}

type noRows struct{}

func (noRows) Columns() []string         { return nil }
func (noRows) Close() error              { return nil }
func (noRows) Next([]driver.Value) error { return io.EOF }

type rows [][]driver.Value

func (r *rows) Columns() []string { return make([]string, len((*r)[0])) }
func (r *rows) Close() error      { return nil }

func (r *rows) Next(into []driver.Value) error {
	if len(*r) == 0 {
		return io.EOF
	}
	copy(into, (*r)[0])
	*r = (*r)[1:]
	return nil
}

func (e *engine) open(dialect sqlstore.Dialect) (*sqlstore.Store, error) {
	return sqlstore.Open(context.Background(), sql.OpenDB(e), dialect, sqlstore.Options{})
}

// postgres returns a fake PostgreSQL that Open accepts.
func postgres() *engine {
	return &engine{settings: map[string]string{
		"server_version_num": "120000", "fsync": "on", "full_page_writes": "on", "synchronous_commit": "on",
		"default_transaction_isolation": "read committed",
		"default_transaction_read_only": "off", "recovery": "false",
	}}
}

func TestPostgresByItsSettings(t *testing.T) {
	for name, c := range map[string]struct {
		change  map[string]string
		refusal string
	}{
		"12":                               {},
		"11":                               {change: map[string]string{"server_version_num": "110022"}, refusal: "older than 12"},
		"a version that is none":           {change: map[string]string{"server_version_num": ""}, refusal: "older than 12"},
		"without full_page_writes":         {change: map[string]string{"full_page_writes": "off"}, refusal: "full_page_writes is off"},
		"K33 failed syncs are tried again": {change: map[string]string{"data_sync_retry": "on"}, refusal: "data_sync_retry is on"},
		"K33 damaged pages become empty":   {change: map[string]string{"zero_damaged_pages": "on"}, refusal: "zero_damaged_pages is on"},
	} {
		t.Run(name, func(t *testing.T) {
			e := postgres()
			for setting, value := range c.change {
				e.settings[setting] = value
			}
			_, err := e.open(sqlstore.PostgreSQL)
			var wrong *auth.SettingError
			switch {
			case c.refusal == "" && err != nil:
				t.Error(err)
			case c.refusal != "" && (!errors.As(err, &wrong) || !strings.Contains(err.Error(), c.refusal)):
				t.Errorf("Open = %v, want that it says %q", err, c.refusal)
			}
		})
	}
}

// sqlite returns a fake SQLite that Open accepts.
func sqlite(version string) *engine {
	return &engine{settings: map[string]string{"version": version, "synchronous": "2", "journal_mode": "wal", "file": "/file"}}
}

func TestSQLiteByItsVersion(t *testing.T) {
	for version, fit := range map[string]bool{
		"3.42.0": true, "3.100.1": true, "4.0": true, "3.41.9": false, "3.9.2": false, "2.50.0": false, "": false, "x": false,
	} {
		_, err := sqlite(version).open(sqlstore.SQLite)
		if (err == nil) != fit || err != nil && !strings.Contains(err.Error(), "older than 3.42") {
			t.Errorf("version %q: %v", version, err)
		}
	}
}

// TestAConnectionThatIsNotRolledBackIsClosed lets the rollback of a transaction fail.
// The next user of the connection would otherwise be inside that transaction.
func TestAConnectionThatIsNotRolledBackIsClosed(t *testing.T) {
	broken := errors.New("disk I/O error")
	for name, c := range map[string]struct {
		fails  map[string]error
		closed int
	}{
		"the commit fails":                      {map[string]error{"COMMIT": broken}, 0},
		"and the rollback too":                  {map[string]error{"COMMIT": broken, "ROLLBACK": broken}, 1},
		"a statement fails":                     {map[string]error{"INSERT": broken}, 0},
		"the rollback after it too":             {map[string]error{"INSERT": broken, "ROLLBACK": broken}, 1},
		"SQLite has rolled back by itself":      {map[string]error{"COMMIT": broken, "ROLLBACK": errors.New("cannot rollback - no transaction is active")}, 0},
		"what is dropped before fails":          {map[string]error{"DELETE": broken}, 0},
		"the lock is not had for other reasons": {map[string]error{"BEGIN": broken, "ROLLBACK": broken}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			e := sqlite("3.42.0")
			s, err := e.open(sqlstore.SQLite)
			if err != nil {
				t.Fatal(err)
			}
			e.fails, e.stale = c.fails, true
			if err := s.Ledger().Issue(t.Context(), token.Record{ClientKey: "app", ID: "id", Subject: "jane", KeyID: "key"}, nil, 1); !errors.Is(err, broken) {
				t.Errorf("Issue = %v, want %v", err, broken)
			}
			if e.closed != c.closed {
				t.Errorf("%d connections were closed, want %d", e.closed, c.closed)
			}
		})
	}
}

func TestSpendIsOneStatement(t *testing.T) {
	for _, e := range []*engine{sqlite("3.42.0"), postgres()} {
		dialect := sqlstore.SQLite
		if e.settings["fsync"] != "" {
			dialect = sqlstore.PostgreSQL
		}
		s, err := e.open(dialect)
		if err != nil {
			t.Fatal(err)
		}
		for _, uses := range []int64{0, 5} {
			e.sent = 0
			r := token.Record{ClientKey: "app", ID: "id", Subject: "jane", KeyID: "key", MaxUses: uses}
			l, err := s.Ledger().Spend(t.Context(), r)
			if err != nil || l != (token.Lineage{Maker: "ann", MakerApp: "app", Parent: "up", Name: "ci"}) || e.sent != 1 {
				t.Errorf("dialect %v, %d uses: Spend = %+v, %v by %d statements", dialect, uses, l, err, e.sent)
			}
			r.Seen = time.UnixMilli(time.Hour.Milliseconds())
			e.sent = 0
			most := 1
			if uses == 0 && dialect == sqlstore.PostgreSQL { // the fake refuses a prepared update, which is not counted
				most = 2
			}
			if _, err := s.Ledger().Spend(t.Context(), r); err != nil || e.sent != most {
				t.Errorf("dialect %v, %d uses, an hour later: Spend = %v by %d statements", dialect, uses, err, e.sent)
			}
			if e.fails = map[string]error{"UPDATE": errors.New("disk full")}; uses == 0 {
				if _, err := s.Ledger().Spend(t.Context(), r); err != nil {
					t.Errorf("dialect %v, the use is not recorded: %v", dialect, err)
				}
			}
			e.fails = nil
		}
	}
}

// TestStats counts calls, and those of a transaction once.
func TestStats(t *testing.T) {
	s, err := sqlite("3.42.0").open(sqlstore.SQLite)
	if err != nil {
		t.Fatal(err)
	}
	calls := func() (n int64) {
		stats := s.Stats()
		if len(stats.Counts) != len(stats.Bounds)+1 || !slices.IsSorted(stats.Bounds) || stats.Sum < 0 {
			t.Errorf("got %+v", stats)
		}
		for _, count := range stats.Counts {
			n += count
		}
		return n
	}
	opened := calls()
	r := token.Record{ClientKey: "app", ID: "id", Subject: "jane", KeyID: "key"}
	for i, call := range []func() error{
		func() error { _, err := s.Ledger().Spend(t.Context(), r); return err },
		func() error { r.MaxUses = 1; _, err := s.Ledger().Spend(t.Context(), r); return err },
		func() error { return s.Ledger().Issue(t.Context(), r, nil, 1) },
	} {
		if err := call(); err != nil || calls() != opened+int64(i+1) {
			t.Errorf("call %d: %v, %d counted", i, err, calls()-opened)
		}
	}
}

// TestAKeyIsTwoStatements counts those of a request that is executed, and of one that is not.
func TestAKeyIsTwoStatements(t *testing.T) {
	for _, e := range []*engine{sqlite("3.42.0"), postgres()} {
		dialect := sqlstore.SQLite
		if e.settings["fsync"] != "" {
			dialect = sqlstore.PostgreSQL
		}
		s, err := sqlstore.Open(t.Context(), sql.OpenDB(e), dialect, sqlstore.Options{UnsafeUnsealed: true})
		if err != nil {
			t.Fatal(err)
		}
		entries, err := s.Idempotency()
		if err != nil {
			t.Fatal(err)
		}
		entry := idempotency.Entry{Org: "acme", Caller: "ann", Fence: "fence", Sealed: []byte("sealed")}
		e.sent = 0
		if _, err := entries.Begin(t.Context(), entry, idempotency.Options{}); err != nil || e.sent != 1 {
			t.Errorf("dialect %v: Begin = %v by %d statements", dialect, err, e.sent)
		}
		if err := entries.End(t.Context(), entry); dialect == sqlstore.PostgreSQL && (err != nil || e.sent != 2) {
			t.Errorf("End = %v, %d statements", err, e.sent)
		}
		e.sent, e.none = 0, true
		if _, err := entries.Begin(t.Context(), entry, idempotency.Options{}); err != nil || e.sent != 2 {
			t.Errorf("dialect %v: Begin of one that is there = %v by %d statements", dialect, err, e.sent)
		}
	}
}

// TestVerifyReadsTheEndsOnce counts the statements of a chain that holds: both ends, and what is between.
func TestVerifyReadsTheEndsOnce(t *testing.T) {
	e := postgres()
	s, err := e.open(sqlstore.PostgreSQL)
	if err != nil {
		t.Fatal(err)
	}
	e.sent, e.none = 0, true
	if err := s.Audit().Verify(t.Context(), "acme", audit.Head{}); err != nil || e.sent != 3 {
		t.Errorf("%v by %d statements", err, e.sent)
	}
}

// TestIssueDeletesWhatThereIs has a subject without dead records, and one with some.
func TestIssueDeletesWhatThereIs(t *testing.T) {
	for stale, want := range map[bool]int{false: 4, true: 5} { // BEGIN, look, DELETE, INSERT, COMMIT
		e := sqlite("3.42.0")
		s, err := e.open(sqlstore.SQLite)
		if err != nil {
			t.Fatal(err)
		}
		e.sent, e.stale = 0, stale
		if err := s.Ledger().Issue(t.Context(), token.Record{ClientKey: "app", ID: "id", Subject: "jane", KeyID: "key"}, nil, 1); err != nil || e.sent != want {
			t.Errorf("stale %v: %v by %d statements, want %d", stale, err, e.sent, want)
		}
	}
}

// TestRun sweeps once a minute until its context ends, also after an error.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := sqlite("3.42.0")
		db := sql.OpenDB(e)
		defer db.Close()
		s, err := sqlstore.Open(t.Context(), db, sqlstore.SQLite, sqlstore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		e.sent = 0
		ctx, cancel := context.WithCancel(t.Context())
		var errs []error
		ended := make(chan struct{})
		go func() {
			s.Run(ctx, func(err error) { errs = append(errs, err) })
			close(ended)
		}()
		time.Sleep(59 * time.Second)
		synctest.Wait()
		if e.sent != 0 {
			t.Errorf("%d statements before a minute", e.sent)
		}
		time.Sleep(2*time.Minute + 2*time.Second)
		synctest.Wait()
		if len(errs) != 3 || !errors.Is(errs[2], errors.ErrUnsupported) { // the fake deletes nothing
			t.Errorf("errors after three minutes: %v", errs)
		}
		cancel()
		<-ended
	})
}

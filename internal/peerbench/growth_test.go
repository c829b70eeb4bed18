package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// grown maps the names in growthRows to operations. Each makes a store of n entries and
// returns a request to it.
var grown = map[string]func(t testing.TB, n int) func(i int) error{
	"memory_session": func(t testing.TB, n int) func(int) error { return sessionsOf(t, new(session.Memory).Sessions(), n, n) },
	"memory_ledger":  func(t testing.TB, n int) func(int) error { return tokensOf(t, token.NewMemoryLedger(nil), n, n) },
	"memory_issue":   issues,
	"memory_claim": func(t testing.TB, n int) func(int) error {
		store := &signing.Memory{PerKey: *live}
		claimsOf(t, store, uint64(n))
		return func(i int) error { // claims known requests again, so that the store does not grow
			if err := store.Claim(context.Background(), use(uint64(i%n)+1)); !errors.Is(err, signing.ErrReplayed) {
				return fmt.Errorf("claimed again: %v", err)
			}
			return nil
		}
	},
	"SQLite_session": func(t testing.TB, n int) func(int) error {
		s, db := sqliteStore(t)
		bulk(t, db, "v9_sessions (hash, id, org, account, ticket, created, authenticated, seen, expires, address, agent, remember, proof, origin, replaced)",
			fmt.Sprint("randomblob(32), i, 'acme', i, '', 0, 0, 0, ", time.Now().Add(time.Hour).UnixMilli(), ", '', '', 0, '', '', 0"), n)
		return sessionsOf(t, s.Sessions(), n, min(n, known))
	},
	"SQLite_ledger": func(t testing.TB, n int) func(int) error {
		s, db := sqliteStore(t)
		bulk(t, db, "v9_ledger (client_key, id, subject, key_id, uses, max_uses, issued, org)", "i % 100, i, i, 'key', 0, 0, 0, 'acme'", n)
		return tokensOf(t, s.Ledger(), n, min(n, known))
	},
	"SQLite_claim": func(t testing.TB, n int) func(int) error {
		s, db := sqliteStore(t)
		bulk(t, db, "v9_replays (id, keep, uses, began, engine)",
			fmt.Sprint("randomblob(32), ", time.Now().Add(time.Hour).UnixMilli(), ", 1, 0, ''"), n)
		return claimsOf(t, s.Replays(), 0)
	},
	"SQLite_page": pageOf,
}

// known is how many entries of a database are requested.
const known = 1000

func BenchmarkGrowth(b *testing.B) {
	for _, r := range growthRows {
		b.Run(r.name, func(b *testing.B) {
			sizes := growthSizes(*live)
			requests := map[int]func(int) error{}
			for _, n := range sizes {
				requests[n] = grown[r.name](b, n)
			}
			runtime.GC() // garbage of filling the store
			for _, n := range thereAndBack(sizes) {
				b.Run(strconv.Itoa(n), func(b *testing.B) {
					i := 0
					for b.Loop() {
						i++
						if err := requests[n](i); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		})
	}
}

// sessionsOf adds some sessions and gets them in turn.
func sessionsOf(t testing.TB, store session.Store, n, some int) func(int) error {
	hashes := make([][32]byte, some)
	for i := range hashes {
		name := fmt.Sprint("account-", n, "-", i)
		hashes[i] = sha256.Sum256([]byte(name))
		now := time.Now()
		err := store.Create(t.Context(), session.Session{
			ID: name, Hash: hashes[i], Org: "acme", Account: name, Created: now, Expires: now.Add(time.Hour),
		}, 0)
		if err != nil {
			t.Fatal(err)
		}
	}
	return func(i int) error {
		_, err := store.Get(context.Background(), "acme", hashes[i%some])
		return err
	}
}

// tokensOf issues some tokens and spends them in turn.
func tokensOf(t testing.TB, ledger token.Ledger, n, some int) func(int) error {
	records := make([]token.Record, some)
	for i := range records {
		name := fmt.Sprint("token-", n, "-", i)
		records[i] = token.Record{ID: name, Org: "acme", ClientKey: issuer, Subject: name, KeyID: "key", Issued: time.Now()}
		if err := ledger.Issue(t.Context(), records[i], nil, 10); err != nil {
			t.Fatal(err)
		}
	}
	return func(i int) error {
		_, err := ledger.Spend(context.Background(), records[i%some])
		return err
	}
}

// issues issues and revokes a token of a subject that has n others.
func issues(t testing.TB, n int) func(int) error {
	ledger := token.NewMemoryLedger(nil)
	r := token.Record{Org: "acme", ClientKey: issuer, Subject: subject, KeyID: "key", Issued: time.Now()}
	for i := range n {
		r.ID = strconv.Itoa(i)
		if err := ledger.Issue(t.Context(), r, nil, n+1); err != nil {
			t.Fatal(err)
		}
	}
	r.ID = "another"
	return func(int) error {
		return errors.Join(ledger.Issue(context.Background(), r, nil, n+1), ledger.Revoke(context.Background(), r.Holder(), r.ID))
	}
}

// claimsOf claims n requests and returns a function that claims others.
func claimsOf(t testing.TB, store signing.Replays, n uint64) func(int) error {
	next := uint64(0)
	claim := func(int) error {
		next++
		return store.Claim(context.Background(), use(next))
	}
	for range n {
		if err := claim(0); err != nil {
			t.Fatal(err)
		}
	}
	return claim
}

func sqliteDB(t testing.TB) *sql.DB {
	db, err := sql.Open("sqlite", "file::memory:?_pragma=busy_timeout(100)&_pragma=synchronous(FULL)")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1) // in memory, each connection would have its own tables
	t.Cleanup(func() { db.Close() })
	return db
}

func sqliteStore(t testing.TB) (*sqlstore.Store, *sql.DB) {
	db := sqliteDB(t)
	key := make([]byte, 32)
	rand.Read(key)
	sealer, err := sqlstore.NewSealer(key)
	if err != nil {
		t.Fatal(err)
	}
	s, err := sqlstore.Open(t.Context(), db, sqlstore.SQLite, sqlstore.Options{Prefix: "peer_", Sealer: sealer, UnsafeDurability: true})
	if err != nil {
		t.Fatal(err)
	}
	return s, db
}

// bulk fills a table in one statement.
func bulk(t testing.TB, db *sql.DB, table, row string, n int) {
	for _, statement := range []string{
		"INSERT INTO peer_" + table + " WITH RECURSIVE s (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < " + strconv.Itoa(n) + ") SELECT " + row + " FROM s",
		"ANALYZE",
	} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
}

// pageOf reads a page of a list that begins behind its middle.
func pageOf(t testing.TB, n int) func(int) error {
	db := sqliteDB(t)
	if _, err := db.Exec("CREATE TABLE peer_notes (id TEXT PRIMARY KEY, likes INTEGER NOT NULL) STRICT"); err != nil {
		t.Fatal(err)
	}
	list := notesTable
	list.Name = "peer_notes"
	schema := paging.Schema{Properties: []paging.Property{{Path: "likes", Type: paging.Integer, Sort: true}}}
	indexes, err := sqlpage.Indexes(schema, list, sqlpage.SQLite)
	if err != nil {
		t.Fatal(err)
	}
	bulk(t, db, "notes", "printf('%09d', i), i * 7919 % 1000", n)
	for _, index := range indexes {
		if _, err := db.Exec(index); err != nil {
			t.Fatal(err)
		}
	}
	q := paging.Query{Sort: []paging.Key{{Path: "likes"}, {Path: "_id"}}, Limit: min(pageLimit, n/2)}
	var last note
	err = db.QueryRow("SELECT id, likes FROM peer_notes ORDER BY likes, id LIMIT 1 OFFSET $1", n/2-1).Scan(&last.id, &last.likes)
	if err != nil {
		t.Fatal(err)
	}
	if q, err = q.After(json.Number(strconv.FormatInt(last.likes, 10)), last.id); err != nil {
		t.Fatal(err)
	}
	return func(int) error {
		text, args, err := sqlpage.Statement(q, list, sqlpage.RowScope{AllIDs: true}, sqlpage.SQLite)
		if err != nil {
			return err
		}
		return countRows(db, q.Limit, text, args...)
	}
}

// countRows reads a page, which must have at least n rows.
func countRows(db *sql.DB, least int, text string, args ...any) error {
	rows, err := db.Query(text, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	n := 0
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return err
		}
		n++
	}
	if n < least {
		return errRefused
	}
	return rows.Err()
}

// together maps the names in coresRows to operations. Each goroutine calls its
// operation once, and repeats the function that it returns.
func together(t testing.TB) map[string]func() func() error {
	memory, claimed := signing.NewMemory(64_000_000), new(atomic.Uint64)
	memory.PerKey = 64_000_000
	return map[string]func() func() error{
		"verify": func() func() error {
			return signedCommand(t, signedInput{secret: secret, at: time.Now(), nonce: "Abcdefgh12345678"})
		},
		"claim": func() func() error {
			// Each goroutine has its own range, so that none waits for a shared counter.
			next := claimed.Add(1) << 22
			return func() error {
				next++
				return memory.Claim(context.Background(), use(next))
			}
		},
		"cached":      accountsOf(10_000),
		"cached_full": accountsOf(20_000),
	}
}

// accountsOf gets n accounts from a cache of 10,000.
func accountsOf(n int) func() func() error {
	directory, ids := new(auth.Memory), make([]string, n)
	for i := range ids {
		ids[i] = "account-" + strconv.Itoa(i)
		directory.PutAccount(auth.Account{ID: ids[i], Org: "acme"})
	}
	cached, goroutines := auth.Cached(directory, time.Hour), new(atomic.Uint64)
	for _, id := range ids {
		cached.Account(context.Background(), "acme", id)
	}
	return func() func() error {
		i := goroutines.Add(1) * 7919 // each begins at another account
		return func() error {
			i++
			_, err := cached.Account(context.Background(), "acme", ids[i%uint64(n)])
			return err
		}
	}
}

func BenchmarkCores(b *testing.B) {
	operations := together(b)
	for _, r := range coresRows {
		b.Run(r.name, func(b *testing.B) {
			for _, cores := range thereAndBack([]int{1, 2}) {
				b.Run(strconv.Itoa(cores), func(b *testing.B) {
					defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
					b.RunParallel(func(pb *testing.PB) {
						operation := operations[r.name]()
						for pb.Next() {
							if err := operation(); err != nil {
								b.Error(err)
								return
							}
						}
					})
				})
			}
		})
	}
}

func TestGrowthHasItsOperations(t *testing.T) {
	if len(grown) != len(growthRows) {
		t.Errorf("%d operations, %d rows", len(grown), len(growthRows))
	}
	for _, r := range growthRows {
		request := grown[r.name](t, 10)
		for i := range 20 {
			if err := request(i); err != nil {
				t.Errorf("%s: %v", r.name, err)
			}
		}
	}
	operations := together(t)
	if len(operations) != len(coresRows) {
		t.Errorf("%d operations, %d rows", len(operations), len(coresRows))
	}
	for _, r := range coresRows {
		if err := operations[r.name]()(); err != nil {
			t.Errorf("%s: %v", r.name, err)
		}
	}
}

// printedGrowth is the output of a run in which each time equals the number of entries
// or of cores.
func printedGrowth(most int) string {
	var b strings.Builder
	for _, r := range growthRows {
		for _, n := range growthSizes(most) {
			fmt.Fprintf(&b, "Benchmark%s/%s/%d-2 \t 1000\t %d ns/op\n", growthBenchmark, r.name, n, n)
		}
	}
	for _, r := range coresRows {
		fmt.Fprintf(&b, "Benchmark%s/%s/1-2 \t 1000\t 170 ns/op\n", coresBenchmark, r.name)
		fmt.Fprintf(&b, "Benchmark%s/%s/2-2 \t 1000\t 100 ns/op\n", coresBenchmark, r.name)
	}
	return b.String()
}

func TestGrowthIsReported(t *testing.T) {
	const most = 1000
	m := readAll(t, printed(), printedGrowth(most))
	if err := m.grew(1, most); err != nil {
		t.Error(err)
	}
	if m.grew(2, most) == nil || m.grew(1, 10*most) == nil {
		t.Error("a size is missing, and nothing is said")
	}
	text := string(report{effort: effort{live: most}, measured: m}.markdown())
	for _, want := range []string{
		"| operation | 10 | 100 | 1 000 | most ÷ ten | about |",
		"| session look-up, SQLite | 10.0 ns | 100 ns | 1.00 µs | 100 |  |",
		"| replay claim in memory | 170 ns | 100 ns | 1.70 | ≥ 1.60 | met |",
		"Verifier.Verify without a store | 170 ns | 100 ns | 1.70 | ≥ 1.80 | **missed** |",
		"takes 1.00 × the time of a hit",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("missing: %s", want)
		}
	}
	for d := xml.NewDecoder(bytes.NewReader(growthPlot(m, most).svg())); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

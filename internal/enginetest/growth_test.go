package enginetest

import (
	"crypto/rand"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/mempage"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// entries is larger for quoted figures:
//
//	go test -run '^$' -bench Growth -entries 10,1000,100000,1000000 ./internal/enginetest
var entries = flag.String("entries", "10,1000", "sizes of the stores of BenchmarkGrowth")

// BenchmarkGrowth times requests in stores with few and with many entries, and prints the medians
// as a table.
func BenchmarkGrowth(b *testing.B) {
	table := growthTable{times: map[string]map[int][]float64{}}
	for text := range strings.SplitSeq(*entries, ",") {
		n, err := strconv.Atoi(text)
		if err != nil {
			b.Fatal(err)
		}
		table.sizes = append(table.sizes, n)
		b.Run(text, func(b *testing.B) {
			table.add(b, "memory", n, memoryOf(b, n))
			for _, h := range homes(b) {
				table.add(b, h.name, n, h.grown(b, n))
			}
		})
	}
	fmt.Println(table.String()) // a benchmark with sub-benchmarks logs nothing
}

// grown are stores with a number of entries, and a page of a list with as many.
type grown struct {
	sessions session.Store
	hashes   [][32]byte // hashes of some sessions
	ledger   token.Ledger
	tokens   []token.Record // some tokens
	replays  signing.Replays
	page     func(b *testing.B)
}

// known is how many of the entries the requests use.
const known = 100

func (g *grown) operations() map[string]func(b *testing.B, i int) {
	return map[string]func(b *testing.B, i int){
		"session look-up": func(b *testing.B, i int) {
			if _, err := g.sessions.Get(b.Context(), "acme", g.hashes[i%len(g.hashes)]); err != nil {
				b.Fatal(err)
			}
		},
		"ledger look-up": func(b *testing.B, i int) {
			if err := spend(b.Context(), g.ledger, g.tokens[i%len(g.tokens)]); err != nil {
				b.Fatal(err)
			}
		},
		"claim": func(b *testing.B, _ int) {
			if err := g.replays.Claim(b.Context(), aUse()); err != nil {
				b.Fatal(err)
			}
		},
		"list page": func(b *testing.B, _ int) { g.page(b) },
	}
}

// addKnown adds the sessions and tokens that the requests use.
func (g *grown) addKnown(b *testing.B, n int) {
	b.Helper()
	for range n {
		s := session.Session{ID: rand.Text(), Org: "acme", Account: rand.Text(), Created: time.Now(), Expires: time.Now().Add(time.Hour)}
		rand.Read(s.Hash[:])
		if err := g.sessions.Create(b.Context(), s, 0); err != nil {
			b.Fatal(err)
		}
		r := aToken()
		r.Subject = r.ID
		if err := g.ledger.Issue(b.Context(), r, nil, 1); err != nil {
			b.Fatal(err)
		}
		if len(g.hashes) < known {
			g.hashes, g.tokens = append(g.hashes, s.Hash), append(g.tokens, r)
		}
	}
}

func memoryOf(b *testing.B, n int) *grown {
	b.Helper()
	g := &grown{sessions: new(session.Memory).Sessions(), ledger: token.NewMemoryLedger(nil), replays: signing.NewMemory(4_000_000)}
	g.addKnown(b, n)
	afterEpoch()
	for range n {
		if err := g.replays.Claim(b.Context(), aUse()); err != nil {
			b.Fatal(err)
		}
	}
	items := make([]item, n)
	for i := range items {
		items[i] = item{"_id": idOf(i)}
	}
	q := paging.Query{Sort: []paging.Key{{Path: "_id"}}, Limit: 10}
	g.page = func(b *testing.B) {
		if page, _ := mempage.Page(items, q, get); len(page) != 10 {
			b.Fatal(len(page))
		}
	}
	return g
}

// grown fills the tables by one statement each. The rows are then in the engine's memory, so the
// curve shows the index, not the disk.
func (h home) grown(b *testing.B, n int) *grown {
	b.Helper()
	db := h.open(b)
	s := h.storeIn(b, db)
	g := &grown{sessions: s.Sessions(), ledger: s.Ledger(), replays: s.Replays()}
	bytes, numbers, dialect := "sha256(i::text::bytea)", "generate_series(1, $1::int) AS s (i)", sqlpage.PostgreSQL
	if h.dialect == sqlstore.SQLite {
		numbers = "(WITH RECURSIVE s (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < $1) SELECT i FROM s)"
		bytes, dialect = "randomblob(32)", sqlpage.SQLite
	}
	later := time.Now().Add(time.Hour)
	for table, row := range map[string]string{
		"sessions (hash, id, org, account, ticket, created, authenticated, seen, expires, address, agent, remember, proof, origin, replaced)": fmt.Sprint(
			bytes, ", i, 'acme', i, '', 0, 0, 0, ", later.UnixMilli(), ", '', '', 0, '', '', 0"),
		"ledger (client_key, id, subject, key_id, uses, max_uses, issued, org)": "i % 100, i, i, 'key', 0, 0, 0, 'acme'",
		"replays (id, keep, uses, began, engine)":                               fmt.Sprint(bytes, ", ", later.UnixMilli(), ", 1, 0, ''"),
	} {
		if _, err := db.Exec("INSERT INTO "+h.prefix+table+" SELECT "+row+" FROM "+numbers, n); err != nil {
			b.Fatal(table, err)
		}
	}
	run(b, db, "ANALYZE")
	g.addKnown(b, min(n, known))
	defer func(were int) { *rows = were }(*rows)
	*rows = n
	list := benchEngine(b, dialect)
	sort := []paging.Key{{Path: "likes"}, {Path: "_id"}}
	q := paging.Query{Sort: sort, Limit: 5}
	if half := n / 2; half > 0 {
		q = goOn(q, list.position(b, sort, half-1))
	}
	g.page = func(b *testing.B) {
		if ids, _ := list.page(b, q); len(ids) != q.Limit {
			b.Fatal(len(ids))
		}
	}
	return g
}

// growthTable has a row for each operation of each store, and a column for each size.
type growthTable struct {
	sizes []int
	times map[string]map[int][]float64 // in ns, by operation and size
}

func (t *growthTable) add(b *testing.B, store string, n int, g *grown) {
	for name, operation := range g.operations() {
		row := store + ", " + name
		b.Run(row, func(b *testing.B) {
			i := 0
			for b.Loop() {
				operation(b, i)
				i++
			}
			if t.times[row] == nil {
				t.times[row] = map[int][]float64{}
			}
			t.times[row][n] = append(t.times[row][n], float64(b.Elapsed().Nanoseconds())/float64(i))
		})
	}
}

func (t *growthTable) String() string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "µs\t")
	for _, n := range t.sizes {
		fmt.Fprintf(w, "%d\t", n)
	}
	fmt.Fprintln(w, "last ÷ first\t")
	var names []string
	for name := range t.times {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(w, "%s\t", name)
		var all []float64
		for _, n := range t.sizes {
			samples := slices.Sorted(slices.Values(t.times[name][n]))
			if len(samples) == 0 {
				continue
			}
			all = append(all, samples[len(samples)/2])
			fmt.Fprintf(w, "%.2f\t", all[len(all)-1]/1e3)
		}
		fmt.Fprintf(w, "%.2f\t\n", all[len(all)-1]/all[0])
	}
	w.Flush()
	return text.String()
}

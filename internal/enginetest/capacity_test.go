package enginetest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash/fnv"
	"math"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/redis/go-redis/v9"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/apikey"
	"github.com/tenantkit/tenantkit/auth/redisstore"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// shards are the sizes of the clusters that are measured. 0 is a server without a cluster.
var shards = []int{0, 1, 2, 3}

const (
	capacityKeys = 4096 // client keys and orgs: they spread over all shards
	withinShare  = 0.2  // how far a share may be from its prediction
)

// usage is what servers have used, in microseconds of CPU and bytes. Another process that interrupts a
// server does not add to its CPU time.
type usage struct{ commands, cpu, in, out, memory, file float64 }

func (u usage) minus(v usage) usage {
	return usage{u.commands - v.commands, u.cpu - v.cpu, u.in - v.in, u.out - v.out, u.memory - v.memory, u.file - v.file}
}

func (u usage) plus(v usage) usage { return u.minus(usage{}.minus(v)) }

func (u usage) each(n int) usage {
	f := float64(n)
	return usage{u.commands / f, u.cpu / f, u.in / f, u.out / f, u.memory / f, u.file / f}
}

var commandCalls = regexp.MustCompile(`(?m)^cmdstat_(evalsha|mget):calls=(\d+)`)

// used reads what INFO says. Scripts contain reads, so a read by itself is counted if there are no scripts.
func (s *redisServer) used(t testing.TB) (u usage) {
	t.Helper()
	text := s.command(t, "INFO", "everything").(string)
	number := func(name string) float64 {
		_, after, ok := strings.Cut(text, "\n"+name+":")
		after, _, _ = strings.Cut(after, "\r")
		n, err := strconv.ParseFloat(after, 64)
		if !ok || err != nil {
			t.Fatalf("INFO has %s %q", name, after)
		}
		return n
	}
	calls := map[string]float64{}
	for _, m := range commandCalls.FindAllStringSubmatch(text, -1) {
		calls[m[1]], _ = strconv.ParseFloat(m[2], 64)
	}
	if u.commands = calls["evalsha"]; u.commands == 0 {
		u.commands = calls["mget"]
	}
	u.cpu = 1e6 * (number("used_cpu_sys") + number("used_cpu_user"))
	u.in, u.out = number("total_net_input_bytes"), number("total_net_output_bytes")
	u.memory, u.file = number("used_memory"), number("aof_current_size")
	return u
}

// shardsUnderLoad are servers, and the stores in them.
type shardsUnderLoad struct {
	servers []*redisServer
	keys    [][]string // client keys, by server
	store   *redisstore.Store
	begin   func() redis.Pipeliner
	batch   redis.Pipeliner // takes the commands, unless it is nil
}

func startShards(t testing.TB, n int) *shardsUnderLoad {
	settings := []string{"--auto-aof-rewrite-percentage", "0"} // its child would count
	s := new(shardsUnderLoad)
	var client redis.UniversalClient
	if n == 0 {
		s.servers = []*redisServer{startRedis(t, settings...)}
		client = redis.NewClient(&redis.Options{Addr: s.servers[0].addr(), ContextTimeoutEnabled: true, MaxRetries: -1, ReadTimeout: -1, PoolTimeout: patience})
	} else {
		c := startCluster(t, n, false, settings...)
		s.servers = c.masters
		client = redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.addrs(), ContextTimeoutEnabled: true, MaxRetries: -1, ReadTimeout: -1, PoolTimeout: patience})
	}
	t.Cleanup(func() { client.Close() })
	do := func(ctx context.Context, args ...any) (any, error) {
		if s.batch != nil {
			return int64(0), s.batch.Process(ctx, redis.NewCmd(ctx, args...))
		}
		return client.Do(ctx, args...).Result()
	}
	s.begin = client.Pipeline
	var err error
	if s.store, err = redisstore.Open(t.Context(), do, redisstore.Options{PerKey: 1 << 30}); err != nil {
		t.Fatal(err)
	}
	afterEpoch()
	s.spread(t)
	return s
}

// claimAtOnce sends n claims in one piece for each server, one server after the other, so that it does little
// but execute them, and has the machine. It returns the CPU time of one.
func (s *shardsUnderLoad) claimAtOnce(t testing.TB, from, n int) (cpu float64) {
	t.Helper()
	each := n / len(s.servers)
	for k, server := range s.servers {
		batch := s.begin()
		s.batch = batch
		for i := range each {
			i += from + k*each
			expect(t, "claim", s.store.Replays().Claim(t.Context(), useNow(s.keys[k][i%len(s.keys[k])], uint64(i))), nil)
		}
		s.batch = nil
		before := server.used(t).cpu
		results, err := batch.Exec(t.Context())
		cpu += server.used(t).cpu - before
		for _, r := range results {
			if r.(*redis.Cmd).Val() != int64(0) {
				t.Fatalf("a claim: %v, %v", r, err)
			}
		}
	}
	return cpu / float64(each*len(s.servers))
}

// spread finds the client keys of each server.
func (s *shardsUnderLoad) spread(t testing.TB) {
	s.keys = make([][]string, len(s.servers))
	for i := range capacityKeys {
		hash, at := fnv.New32a(), 0
		hash.Write([]byte(capacityKey(i)))
		if len(s.servers) > 1 {
			slot := s.servers[0].command(t, "CLUSTER", "KEYSLOT", fmt.Sprintf("{%d}", hash.Sum32()%256)).(int64)
			at = int(slot) * len(s.servers) / 16384
		}
		s.keys[at] = append(s.keys[at], capacityKey(i))
	}
}

// load makes calls of eight clients for each server at once, and returns what each server has used for them.
func (s *shardsUnderLoad) load(t testing.TB, from, n int, call func(ctx context.Context, i int) error) (each []usage) {
	t.Helper()
	before := make([]usage, len(s.servers))
	for i, server := range s.servers {
		server.command(t, "CONFIG", "RESETSTAT")
		before[i] = server.used(t)
	}
	atATime(t, 8*len(s.servers), n, func(i int) error { return call(t.Context(), from+i) })
	for i, server := range s.servers {
		each = append(each, server.used(t).minus(before[i]))
	}
	return each
}

// atATime makes n calls, some of them at a time.
func atATime(t testing.TB, some, n int, call func(i int) error) {
	t.Helper()
	var wg sync.WaitGroup
	var next atomic.Int64
	for range some {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				if err := call(int(i)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func capacityKey(i int) string { return fmt.Sprintf("client-key-%011d", i%capacityKeys) }

func (s *shardsUnderLoad) claim(ctx context.Context, i int) error {
	return s.store.Replays().Claim(ctx, useNow(capacityKey(i), uint64(i)))
}

// claimCost is the cost of a claim with a number of shards.
type claimCost struct {
	all         usage
	script      float64 // CPU time without network: of many claims in one piece
	most, least float64 // the largest and the smallest share of a shard, times the number of shards
	costMost    float64 // CPU time of the busiest shard, for each claim of all
}

// measureClaims alternates between the sizes, so that other load on the machine falls on all. Times are medians
// of the rounds, and so is the ratio of those with one shard to those of a server without a cluster.
func measureClaims(t testing.TB, rounds, n int) (costs map[int]claimCost, ratio map[int]float64) {
	all, from := map[int]*shardsUnderLoad{}, 2000
	memory := map[int]float64{}
	for _, size := range shards {
		all[size] = startShards(t, size)
		all[size].load(t, 0, from, all[size].claim) // scripts, connections, and the memory of both
		memory[size] = -all[size].memory(t)
	}
	sums := map[int][]usage{}
	cpu, most, scripts := map[int][]float64{}, map[int][]float64{}, map[int][]float64{}
	for range rounds {
		for _, size := range shards {
			sum, busiest := usage{}, 0.0
			for i, u := range all[size].load(t, from, n, all[size].claim) {
				sum, busiest = sum.plus(u), math.Max(busiest, u.cpu)
				if len(sums[size]) <= i {
					sums[size] = append(sums[size], usage{})
				}
				sums[size][i] = sums[size][i].plus(u)
			}
			cpu[size] = append(cpu[size], sum.cpu/float64(n))
			most[size] = append(most[size], busiest/float64(n))
			scripts[size] = append(scripts[size], all[size].claimAtOnce(t, from+n+1, n))
		}
		from += 2*n + 1
	}
	costs, ratio = map[int]claimCost{}, map[int]float64{}
	for _, size := range shards {
		c := claimCost{least: math.Inf(1), script: middle(scripts[size]), costMost: middle(most[size])}
		for _, u := range sums[size] {
			c.all = c.all.plus(u)
			share := u.commands / float64(rounds*n) * float64(len(sums[size]))
			c.most, c.least = math.Max(c.most, share), math.Min(c.least, share)
		}
		c.all = c.all.each(rounds * n)
		c.all.cpu = middle(cpu[size])
		c.all.memory = (memory[size] + all[size].memory(t)) / float64(2*rounds*n)
		costs[size] = c
		ratio[size] = middle(quotients(scripts[size], scripts[0]))
	}
	return costs, ratio
}

func (s *shardsUnderLoad) memory(t testing.TB) (sum float64) {
	for _, server := range s.servers {
		sum += server.used(t).memory
	}
	return sum
}

func quotients(a, b []float64) (all []float64) {
	for i := range a {
		all = append(all, a[i]/b[i])
	}
	return all
}

func middle(of []float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[len(sorted)/2]
}

func capacityAPIKey(i int) apikey.Record {
	r := apiKeyOf(auth.OrgKey(capacityKey(i)), fmt.Sprintf("account-%014d", i/10))
	r.ID, r.Hash = fmt.Sprintf("%013d", i), sha256.Sum256([]byte(strconv.Itoa(i)))
	return r
}

// capacityVerbs are calls to the stores of Redis, the first ones of a record before those that use it.
func (s *shardsUnderLoad) capacityVerbs() []struct {
	name string
	call func(ctx context.Context, i int) error
} {
	org := func(i int) auth.OrgKey { return auth.OrgKey(capacityKey(i)) }
	record := func(i int) token.Record {
		r := tokenOf(fmt.Sprintf("token-%016d", i), 1<<40)
		r.Org, r.ClientKey, r.Subject = org(i), capacityKey(i), fmt.Sprintf("account-%014d", i/10)
		return r
	}
	hash := func(i int) [32]byte { return sha256.Sum256([]byte(strconv.Itoa(i))) }
	return []struct {
		name string
		call func(ctx context.Context, i int) error
	}{
		{"a claim of a signed request", s.claim},
		{"a login", func(ctx context.Context, i int) error {
			one := sessionOf(strconv.Itoa(i))
			one.Hash, one.Org, one.Account, one.Agent = hash(i), org(i), fmt.Sprintf("account-%014d", i/10), strings.Repeat("a", 100)
			return s.store.Sessions().Create(ctx, one, 20)
		}},
		{"a request with a session", func(ctx context.Context, i int) error {
			_, err := s.store.Sessions().Get(ctx, org(i), hash(i))
			return err
		}},
		{"a token with a use count is issued", func(ctx context.Context, i int) error {
			return s.store.Ledger().Issue(ctx, record(i), nil, 100)
		}},
		{"a request with it", func(ctx context.Context, i int) error {
			_, err := s.store.Ledger().Spend(ctx, record(i))
			return err
		}},
		{"an API key is created", func(ctx context.Context, i int) error { return s.store.APIKeys().Add(ctx, capacityAPIKey(i), 100) }},
		{"a request with an API key, its read", func(ctx context.Context, i int) error {
			_, err := s.store.APIKeys().Get(ctx, capacityAPIKey(i).ID)
			return err
		}},
		{"the same, its use", func(ctx context.Context, i int) error {
			return s.store.APIKeys().Use(ctx, capacityAPIKey(i).ID, keysCreated, netip.Prefix{})
		}},
		{"an attempt at a password", func(ctx context.Context, i int) error {
			_, err := s.store.Attempts().Swap(ctx, org(i), capacityKey(i)+strconv.Itoa(i), "", "1 1700000000000 0")
			return err
		}},
	}
}

// postgresUse is what claims cost PostgreSQL.
type postgresUse struct{ cpu, in, out, wal, deleting, pages, rows, size, credential, apiKey float64 }

// countedConn counts what a connection sends and receives.
type countedConn struct {
	net.Conn
	in, out *atomic.Int64
}

func (c countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.out.Add(int64(n))
	return n, err
}

func (c countedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.in.Add(int64(n))
	return n, err
}

// measurePostgres has two measures of the log: of rows that go to where others were lately, and after a
// checkpoint, when each page that is touched is written as a whole.
func measurePostgres(t testing.TB, n int) (u postgresUse) {
	server, err := startPostgres("-c", "fsync=on", "-c", "autovacuum=off")
	skipUninstalled(t, err)
	t.Cleanup(server.stop)
	var in, out atomic.Int64
	config := must(pgx.ParseConfig(server.source))(t)
	config.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, addr)
		return countedConn{c, &in, &out}, err
	}
	db := stdlib.OpenDB(*config)
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(8)
	db.SetMaxIdleConns(8)
	s := must(sqlstore.Open(t.Context(), db, sqlstore.PostgreSQL, sqlstore.Options{Sealer: sealer(t)}))(t)
	afterEpoch()
	claim := func(from, n int) {
		atATime(t, 8, n, func(i int) error {
			return s.Replays().Claim(t.Context(), useNow(capacityKey(from+i), uint64(from+i)))
		})
	}
	claim(0, n) // statements, and a table that is not empty
	run(t, server.db, "CHECKPOINT")
	claim(n, n) // and its pages
	read := func(table string) (wal, size float64) {
		const query = `SELECT pg_current_wal_insert_lsn() - '0/0', pg_total_relation_size($1)`
		if err := server.db.QueryRow(query, "tenantkit_v9_"+table).Scan(&wal, &size); err != nil {
			t.Fatal(err)
		}
		return wal, size
	}
	wal, size := read("replays")
	ins, outs, cpu := in.Load(), out.Load(), cpuOf(t, server.process.Process.Pid)
	claim(2*n, n)
	u.cpu = (cpuOf(t, server.process.Process.Pid) - cpu) / float64(n)
	u.in, u.out = float64(in.Load()-ins)/float64(n), float64(out.Load()-outs)/float64(n)
	walAfter, sizeAfter := read("replays")
	u.wal, u.size = (walAfter-wal)/float64(n), (sizeAfter-size)/float64(n)
	run(t, server.db, "CHECKPOINT")
	few := n / 40
	wal, _ = read("replays")
	claim(3*n, few)
	walAfter, _ = read("replays")
	u.pages = (walAfter-wal)/float64(few) - u.wal
	if err := server.db.QueryRow("SELECT count(*) FROM tenantkit_v9_replays").Scan(&u.rows); err != nil {
		t.Fatal(err)
	}
	u.rows /= float64(3*n + few)

	run(t, server.db, "UPDATE tenantkit_v9_replays SET keep = 1 WHERE id <> ''")
	run(t, server.db, "CHECKPOINT")
	wal, _ = read("replays")
	expect(t, "Sweep", s.Sweep(t.Context()), nil)
	walAfter, _ = read("replays")
	var left float64
	if err := server.db.QueryRow("SELECT count(*) FROM tenantkit_v9_replays").Scan(&left); err != nil {
		t.Fatal(err)
	}
	u.deleting = (walAfter - wal) / (float64(3*n+few) - left/u.rows)

	credentials := must(s.Credentials())(t)
	some := n / 4
	_, size = read("credentials")
	atATime(t, 8, some, func(i int) error {
		_, secret := signing.Generate()
		return credentials.Put(t.Context(), auth.OrgKey(capacityKey(i/100)), newClientKey(), secret, signature.Credential{})
	})
	_, sizeAfter = read("credentials")
	u.credential = (sizeAfter - size) / float64(some)
	_, size = read("api_keys")
	atATime(t, 8, some, func(i int) error { return s.APIKeys().Add(t.Context(), capacityAPIKey(i), 100) })
	_, sizeAfter = read("api_keys")
	u.apiKey = (sizeAfter - size) / float64(some)
	return u
}

// fullestShards returns how many of the 256 shards the fullest of 1 to 16 primaries has.
func fullestShards(t testing.TB, s *redisServer) (all []int) {
	for n := range 16 {
		at := make([]int, n+1)
		for shard := range 256 {
			slot := s.command(t, "CLUSTER", "KEYSLOT", fmt.Sprintf("{%d}", shard)).(int64)
			at[int(slot)*(n+1)/16384]++
		}
		all = append(all, slices.Max(at))
	}
	return all
}

// cpuOf returns the CPU time of a process and its children, in microseconds.
func cpuOf(t testing.TB, parent int) (sum float64) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(all) == 0 {
		t.Skip("no /proc to read the CPU time of PostgreSQL from")
	}
	for _, path := range all {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		if fields[1] != strconv.Itoa(parent) && !strings.HasPrefix(string(text), strconv.Itoa(parent)+" ") {
			continue
		}
		for _, field := range fields[11:13] {
			n, _ := strconv.ParseFloat(field, 64)
			sum += n * 1e4
		}
	}
	return sum
}

// TestCapacity measures the factors of examples/guides/capacity.md. Counts and bytes must be within 20 %
// of their prediction. Times are logged, and fail nothing. CAPACITY_TABLE=1 writes the page again.
//
//	LONG=1 CAPACITY_TABLE=1 go test -v -timeout 1h -run '^TestCapacity$' ./internal/enginetest
func TestCapacity(t *testing.T) {
	if os.Getenv("LONG") != "1" {
		t.Skip("LONG is not 1")
	}
	const turns, n, records = 40, 2500, 20_000
	var page strings.Builder
	write := func(format string, args ...any) { fmt.Fprintf(&page, format+"\n", args...) }

	costs, ratio := measureClaims(t, turns, n)
	one := costs[1]
	write("A claim, by what Redis says of itself, of %d claims of %d client keys. \"Script\" is CPU time of claims that come in one piece, and \"CPU\" of those", turns*n, capacityKeys)
	write("that come one by one, with the network:\n")
	write("| primaries | script | CPU | memory | file | to it | from it | round trips | share of the fullest, the emptiest | growth by script, by CPU |")
	write("|---|---|---|---|---|---|---|---|---|---|")
	for _, size := range shards {
		c, name, growth, share := costs[size], fmt.Sprint(size, " in a cluster"), "–", "–"
		if size == 0 {
			name = "1, no cluster"
		} else {
			growth = fmt.Sprintf("%.2f, %.2f of %d", float64(size)*one.script/c.script/c.most, one.costMost/c.costMost, size)
			share = fmt.Sprintf("%.2f, %.2f of 1/%d", c.most, c.least, size)
		}
		write("| %s | %.1f µs | %.0f µs | %.0f B | %.0f B | %.0f B | %.0f B | %.2f | %s | %s |", name, c.script, c.all.cpu, c.all.memory, c.all.file, c.all.in, c.all.out, c.all.commands, share, growth)
		for what, factor := range map[string]float64{
			"memory": c.all.memory / one.all.memory, "bytes sent": c.all.in / one.all.in, "round trips": c.all.commands, "the fullest shard": c.most, "the emptiest shard": c.least,
		} {
			if math.Abs(factor-1) > withinShare {
				t.Errorf("%d primaries: %s is %.2f of what is predicted", size, what, factor)
			}
		}
	}
	write("\nThe script takes %.2f times as long in a cluster of one primary as without a cluster, and %.2f in one of three. With the network it is %.2f and %.2f.", ratio[1], ratio[3], one.all.cpu/costs[0].all.cpu, costs[3].all.cpu/costs[0].all.cpu)
	write("All are medians of %d rounds in turn.\n", turns)
	single, three := startShards(t, 0), startShards(t, 3)
	write("Calls to one server without a cluster, and what a record keeps, of %d each:\n", records)
	write("| | CPU | to it | from it | round trips | kept | in a cluster of three: the fullest has |")
	write("|---|---|---|---|---|---|---|")
	verbs := map[string]usage{}
	for v, verb := range single.capacityVerbs() {
		u := single.load(t, 0, records, verb.call)[0].each(records)
		most := 0.0
		for _, each := range three.load(t, 0, records, three.capacityVerbs()[v].call) {
			most = math.Max(most, each.commands/float64(records))
		}
		kept := "–"
		if u.memory > 50 {
			kept = fmt.Sprintf("%.0f B", u.memory)
		}
		verbs[verb.name] = u
		write("| %s | %.0f µs | %.0f B | %.0f B | %.2f | %s | %.0f %% |", verb.name, u.cpu, u.in, u.out, u.commands, kept, 100*most)
	}

	p := measurePostgres(t, records)
	write("\nIn PostgreSQL: a claim takes %.0f µs of CPU, %.0f B to it and %.0f B from it, and leaves %.1f rows of together %.0f B with their", p.cpu, p.in, p.out, p.rows, p.size)
	write("indexes. It writes %.0f B of WAL, and its deletion %.0f B. The first ones after a checkpoint write %.0f B more each: the pages that they touch.", p.wal, p.deleting, p.pages)
	write("A request credential is %.0f B, an API key %.0f B.", p.credential, p.apiKey)

	write("\nIn a cluster with equal ranges of slots the fullest primary has, of the 256 shards:\n")
	most := fullestShards(t, three.servers[0])
	head, row := "| primaries", "| shards"
	for i, n := range most {
		head += fmt.Sprint(" | ", i+1)
		row += fmt.Sprint(" | ", n)
	}
	write("%s |\n|%s\n%s |\n", head, strings.Repeat("---|", 17), row)
	writeArithmetic(write, one, verbs, p, most)
	t.Log("\n" + page.String())
	if os.Getenv("CAPACITY_TABLE") == "1" {
		writePart(t, "../../examples/guides/capacity.md", page.String())
	}
}

// writeArithmetic computes what 100,000 requests a second and 1,000,000 credentials need, from what was measured.
func writeArithmetic(write func(string, ...any), claim claimCost, verbs map[string]usage, p postgresUse, most []int) {
	const target, credentials, remembered, day = 1e5, 1e6, 390, 86400
	const GB, MB, TB = 1e9, 1e6, 1e12
	busy := func(n int) float64 { return target * claim.all.cpu / 1e6 * float64(most[n-1]) / 256 }
	primaries := 1
	for busy(primaries) > 0.5 && primaries < len(most) {
		primaries++
	}
	share := float64(most[primaries-1]) / 256
	least := math.Ceil(target * claim.all.cpu / 1e6 / 0.5)
	live := target * remembered
	write("### 100,000 signed requests a second\n")
	write("Arithmetic, from the factors above, for servers that are busy for half of the time:\n")
	write("- **Redis Cluster**: %.1f cores, so %.0f primaries with equal shares of the 256 shards. With equal ranges of slots it is %d, of which the fullest", target*claim.all.cpu/1e6, least, primaries)
	write("  has %d shards and is busy for %.0f %%. One round trip each.", most[primaries-1], 100*busy(primaries))
	write("- Memory: %.0f s × 100,000 = %.0f million live claims × %.0f B = %.1f GB, %.1f GB on the fullest of %d. Allow twice that for rewrites.", float64(remembered), live/1e6, claim.all.memory, live*claim.all.memory/GB, live*claim.all.memory*share/GB, primaries)
	write("- Traffic: %.0f MB/s to all, %.0f MB/s to the fullest, and %.1f MB/s back. Append-only files grow by %.0f MB/s together until they are rewritten, %.1f TB a day.", target*claim.all.in/MB, target*claim.all.in*share/MB, target*claim.all.out/MB, target*claim.all.file/MB, target*claim.all.file*day/TB)
	write("- **PostgreSQL**: %.1f cores, so %.0f at half load; 200,000 rows a second written and as many deleted, %.0f billion of each a day; %.0f million live rows,", target*p.cpu/1e6, math.Ceil(2*target*p.cpu/1e6), target*p.rows*day/1e9, live*p.rows/1e6)
	write("  %.0f GB. WAL: %.0f MB/s, %.1f TB a day, and each page of the table once more after each checkpoint, at most %.1f TB a day with one every", live*p.size/GB, target*(p.wal+p.deleting)/MB, target*(p.wal+p.deleting)*day/TB, live*p.size*288/TB)
	write("  five minutes. That is not one server: divide by org, or keep claims in Redis. At 2,000 a second it is %.2f cores and %.0f GB of WAL a day.", 2000*p.cpu/1e6, 2000*(p.wal+p.deleting)*day/GB)
	write("\n### 1,000,000 credentials\n")
	session, token, key := verbs["a login"], verbs["a token with a use count is issued"], verbs["an API key is created"]
	write("| in | a million | size | spread by |\n|---|---|---|---|")
	write("| Redis | sessions · tokens with a `jti` | %.2f GB · %.2f GB | org |", credentials*session.memory/GB, credentials*token.memory/GB)
	write("| Redis | API keys | %.2f GB | nothing: one shard has all |", credentials*key.memory/GB)
	write("| PostgreSQL | request credentials · API keys | %.2f GB · %.2f GB | nothing |", credentials*p.credential/GB, credentials*p.apiKey/GB)
	half := func(name string) float64 { return 500 / verbs[name].cpu }
	write("\n### What does not spread\n")
	write("One org's sessions and tokens, one client key's claims and all API keys are on one primary each. At half load it serves, by its CPU time,")
	write("%.0f,000 requests a second with sessions, or %.0f,000 with tokens that have a use count, or %.0f,000 with API keys, or %.0f,000 signed by one client", half("a request with a session"), half("a request with it"), half("a request with an API key, its read"), 500/claim.all.cpu)
	write("key. `PerKey` bounds the last to 512 by default. In PostgreSQL no lock of an org is taken by a request: one org can use the whole server.")
	write("Beyond that, give the org a service of its own.")
}

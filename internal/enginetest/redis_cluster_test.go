package enginetest

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/redisstore"
	"github.com/tenantkit/tenantkit/signing"
)

const clusterMasters = 3

// redisCluster is a cluster of one test. The replica at i is that of the master at i.
type redisCluster struct {
	masters, replicas []*redisServer
}

// startCluster starts masters with equal ranges of slots, and a replica of each if asked for.
func startCluster(t testing.TB, masters int, replicas bool, settings ...string) *redisCluster {
	t.Helper()
	patience := "30000" // in milliseconds
	if replicas {
		patience = "1500" // one replaces its master after that time
	}
	settings = append([]string{"--cluster-enabled", "yes", "--cluster-node-timeout", patience,
		"--cluster-require-full-coverage", "no", "--repl-diskless-sync-delay", "0"}, settings...)
	c := new(redisCluster)
	for i := range masters {
		s := startRedis(t, settings...)
		s.command(t, "CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1))
		s.command(t, "CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(i*16384/masters), strconv.Itoa((i+1)*16384/masters-1))
		c.masters = append(c.masters, s)
	}
	if replicas {
		for range masters {
			c.replicas = append(c.replicas, startRedis(t, settings...))
		}
	}
	for _, s := range append(c.masters, c.replicas...)[1:] {
		s.command(t, "CLUSTER", "MEET", "127.0.0.1", c.masters[0].port)
	}
	c.await(t, func(s *redisServer) bool {
		return strings.Contains(s.info(t), "cluster_known_nodes:"+strconv.Itoa(len(c.masters)+len(c.replicas)))
	})
	for i, s := range c.replicas {
		id := c.masters[i].command(t, "CLUSTER", "MYID")
		s.command(t, "CLUSTER", "REPLICATE", id)
	}
	c.await(t, func(s *redisServer) bool {
		info := s.info(t) // the state is ok as soon as the server's own slots are
		return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_slots_ok:16384")
	})
	for _, s := range c.replicas {
		if !until(func() bool {
			return strings.Contains(s.command(t, "INFO", "replication").(string), "master_link_status:up")
		}) {
			t.Fatal("a replica does not follow its master")
		}
	}
	return c
}

func (s *redisServer) info(t testing.TB) string {
	t.Helper()
	return s.command(t, "CLUSTER", "INFO").(string)
}

func (c *redisCluster) await(t testing.TB, ready func(*redisServer) bool) {
	t.Helper()
	for _, s := range append(c.masters, c.replicas...) {
		if !until(func() bool { return ready(s) }) {
			t.Fatal("the cluster does not come up: " + s.info(t))
		}
	}
}

func (c *redisCluster) addrs() (all []string) {
	for _, s := range append(c.masters, c.replicas...) {
		all = append(all, s.addr())
	}
	return all
}

// once is a command that the client redirects, but never sends again.
type once struct{ *redis.Cmd }

func (once) NoRetry() bool { return true }

// dialCluster is dial for a cluster.
func dialCluster(t testing.TB, addrs []string) redisstore.Do {
	t.Helper()
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs, ContextTimeoutEnabled: true, MaxRetries: -1,
		DialTimeout: time.Second, ClusterStateReloadInterval: time.Second, ReadTimeout: -1, PoolTimeout: patience})
	t.Cleanup(func() { client.Close() })
	return func(ctx context.Context, args ...any) (any, error) {
		command := once{redis.NewCmd(ctx, args...)}
		client.Process(ctx, command)
		return command.Result()
	}
}

func (c *redisCluster) open(t testing.TB) *redisstore.Store {
	t.Helper()
	return openBy(t, dialCluster(t, c.addrs()))
}

func openBy(t testing.TB, do redisstore.Do) *redisstore.Store {
	t.Helper()
	s, err := redisstore.Open(t.Context(), do, redisstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	afterEpoch()
	return s
}

func TestRedisClusterStores(t *testing.T) {
	t.Parallel()
	testRedisStores(t, startCluster(t, clusterMasters, false).open(t))
}

// TestK34RedisCluster has each verb of each store, which must be one command for one slot.
func TestK34RedisCluster(t *testing.T) {
	leftToTheGate(t)
	t.Parallel()
	c := startCluster(t, clusterMasters, false)
	do, commands := dialCluster(t, c.addrs()), 0
	counted := func(ctx context.Context, args ...any) (any, error) {
		commands++
		return do(ctx, args...)
	}
	for _, prefix := range []string{"{}:", "{}{tenantkit}:"} {
		if _, err := redisstore.Open(t.Context(), do, redisstore.Options{Prefix: prefix}); err == nil || !strings.Contains(err.Error(), "slot") {
			t.Errorf("K34 opened with the prefix %q: %v", prefix, err)
		}
	}
	store := openBy(t, counted)
	stores := storesOf(t, store)
	stores.verbs(t.Context(), 0) // the servers learn the scripts
	for round := range uint64(20) {
		for verb, err := range stores.verbs(t.Context(), 1+round) {
			if err != nil {
				t.Errorf("K34 %s: %v", verb, err)
			}
		}
	}
	for i, s := range c.masters {
		if held := len(s.keys(t)); held < 100 {
			t.Errorf("K34 master %d of the cluster holds %d keys", i, held)
		}
	}
	commands = 0
	_, err := stores.sessions.Get(t.Context(), "acme", sessionOf("created1").Hash)
	if err != nil || commands != 1 {
		t.Errorf("K34 Get: %d commands, %v", commands, err)
	}
	expect(t, "RevokeAccount", store.RevokeAccount(t.Context(), "acme", "ann"), nil)
	expect(t, "DeleteOrg", store.DeleteOrg(t.Context(), "acme"), nil)
	if err := spend(t.Context(), stores.ledger, tokenOf("verbs1", 0)); err == nil {
		t.Error("K34 a token outlives DeleteOrg")
	}
}

// TestK34AMasterThatIsNotFit has one wrong master of three, which the probe may not have asked.
func TestK34AMasterThatIsNotFit(t *testing.T) {
	leftToTheGate(t)
	t.Parallel()
	c := startCluster(t, clusterMasters, false)
	for _, s := range c.masters {
		s.command(t, "CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
		_, err := redisstore.Open(t.Context(), dialCluster(t, c.addrs()), redisstore.Options{})
		var wrong *auth.SettingError
		if !errors.As(err, &wrong) || wrong.Setting != "maxmemory-policy" {
			t.Errorf("K34 %v", err)
		}
		s.command(t, "CONFIG", "SET", "maxmemory-policy", "noeviction")
	}
}

// TestK34NoVerbRunsInHalfASlot stops the move of a slot at random keys. A script on either side would
// miss the keys of the other: a revocation would find nothing to revoke, and say that it is done.
func TestK34NoVerbRunsInHalfASlot(t *testing.T) {
	leftToTheGate(t)
	t.Parallel()
	c := startCluster(t, 2, false)
	stores := storesOf(t, c.open(t))
	slot, from, to := c.slotOf(t, "acme")
	random, confirmed, refused := rand.New(rand.NewPCG(37, 0)), 0, 0
	for round := range 60 {
		one, logged := tokenOf(fmt.Sprint("K34 ", round), 0), sessionOf(fmt.Sprint("K34 ", round))
		expect(t, "issue", stores.ledger.Issue(t.Context(), one, nil, 1000), nil)
		expect(t, "create", stores.sessions.Create(t.Context(), logged, 0), nil)
		end := c.begin(t, slot, from, to, random)
		_, all := stores.ledger.RevokeSubject(t.Context(), one.Holder())
		revoked := stores.ledger.Revoke(t.Context(), one.Holder(), one.ID)
		logout := stores.sessions.Delete(t.Context(), logged.Org, logged.Hash)
		_, everywhere := stores.sessions.DeleteAll(t.Context(), logged.Org, logged.Account, "")
		end()
		from, to = to, from
		if err := eventually(func() error { return spend(t.Context(), stores.ledger, one) }); (revoked == nil || all == nil) && err == nil {
			t.Errorf("K34 round %d: Revoke = %v, RevokeSubject = %v, and the token is accepted", round, revoked, all)
		}
		if _, err := stores.sessions.Get(t.Context(), logged.Org, logged.Hash); (logout == nil || everywhere == nil) && err == nil {
			t.Errorf("K34 round %d: Delete = %v, DeleteAll = %v, and the session is there", round, logout, everywhere)
		}
		for verb, err := range map[string]error{"RevokeSubject": all, "Revoke": revoked, "Delete": logout, "DeleteAll": everywhere} {
			switch {
			case err == nil:
				confirmed++
			case errors.Is(err, auth.ErrUnavailable):
				refused++
			default:
				t.Errorf("K34 round %d: %s = %v, of what is there", round, verb, err)
			}
		}
		if _, err := stores.ledger.RevokeSubject(t.Context(), one.Holder()); err != nil {
			t.Error(err)
		}
		if _, err := stores.sessions.DeleteAll(t.Context(), logged.Org, logged.Account, ""); err != nil {
			t.Error(err)
		}
	}
	t.Logf("while the slot moved, %d verbs were refused and %d confirmed", refused, confirmed)
}

// eventually repeats what the client cannot know: where a slot is now.
func eventually(call func() error) (err error) {
	until(func() bool { err = call(); return !errors.Is(err, auth.ErrUnavailable) })
	return err
}

// slotOf returns the slot of an org's records, the master that has it and another one.
func (c *redisCluster) slotOf(t testing.TB, org string) (slot int, from, to *redisServer) {
	t.Helper()
	hash := fnv.New32a()
	hash.Write([]byte(org))
	key := fmt.Sprintf("{%d}", hash.Sum32()%256)
	slot = int(c.masters[0].command(t, "CLUSTER", "KEYSLOT", key).(int64))
	at := slot * len(c.masters) / 16384
	return slot, c.masters[at], c.masters[(at+1)%len(c.masters)]
}

// TestK34ClaimsWhileTheirSlotMoves stops the move at random keys. What was accepted before is rejected during
// and after it, and nothing is accepted on both sides.
func TestK34ClaimsWhileTheirSlotMoves(t *testing.T) {
	leftToTheGate(t)
	t.Parallel()
	c := startCluster(t, 2, false)
	replays := c.open(t).Replays()
	slot, from, to := c.slotOf(t, "acme")
	random, n, during := rand.New(rand.NewPCG(34, 0)), uint64(0), map[string]int{}
	aClaim := func() signing.Use { n++; return useNow("acme", n) }
	for round := range 60 {
		// The first claim on another server begins an epoch there. What is signed after it is accepted.
		var before signing.Use
		if !until(func() bool { before = aClaim(); return replays.Claim(t.Context(), before) == nil }) {
			t.Fatal("no claim is accepted")
		}
		end := c.begin(t, slot, from, to, random)
		meanwhile := aClaim()
		first, again := replays.Claim(t.Context(), meanwhile), replays.Claim(t.Context(), before)
		if again == nil || first == nil && replays.Claim(t.Context(), meanwhile) == nil {
			t.Errorf("K34 round %d: accepted twice during the move", round)
		}
		end()
		from, to = to, from
		for _, u := range []signing.Use{before, meanwhile} {
			if err := eventually(func() error { return replays.Claim(t.Context(), u) }); err == nil && (u == before || first == nil) {
				t.Errorf("K34 round %d: accepted twice after the move", round)
			}
		}
		for _, err := range []error{first, again} {
			switch {
			case errors.Is(err, auth.ErrUnavailable):
				during["refused"]++
			default:
				during[fmt.Sprint(err)]++
			}
		}
	}
	t.Logf("while the slot moved: %v", during)
}

// begin begins to move a slot, with some of its keys. The function that it returns moves the others.
func (c *redisCluster) begin(t testing.TB, slot int, from, to *redisServer, random *rand.Rand) (end func()) {
	t.Helper()
	id := func(s *redisServer) any { return s.command(t, "CLUSTER", "MYID") }
	to.command(t, "CLUSTER", "SETSLOT", slot, "IMPORTING", id(from))
	from.command(t, "CLUSTER", "SETSLOT", slot, "MIGRATING", id(to))
	keys := from.command(t, "CLUSTER", "GETKEYSINSLOT", slot, 1<<20).([]any)
	random.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	move := func(keys []any) {
		for some := range slices.Chunk(keys, 50) {
			from.command(t, append([]any{"MIGRATE", "127.0.0.1", to.port, "", 0, 5000, "KEYS"}, some...)...)
		}
	}
	now := random.IntN(len(keys) + 1)
	move(keys[:now])
	return func() {
		move(keys[now:])
		move(from.command(t, "CLUSTER", "GETKEYSINSLOT", slot, 1<<20).([]any)) // what was written meanwhile
		to.command(t, "CLUSTER", "SETSLOT", slot, "NODE", id(to))
		for _, s := range c.masters {
			if s != to {
				s.command(t, "CLUSTER", "SETSLOT", slot, "NODE", id(to))
			}
		}
		// Until all know the epoch of this move, the next one may get the same, and then be undone.
		if !until(func() bool { return c.agree(t) }) {
			t.Fatal("the masters do not agree")
		}
	}
}

// agree reports whether all masters know of the same epoch.
func (c *redisCluster) agree(t testing.TB) bool {
	epochs := map[string]bool{}
	for _, s := range c.masters {
		_, after, _ := strings.Cut(s.command(t, "CLUSTER", "INFO").(string), "cluster_current_epoch:")
		epoch, _, _ := strings.Cut(after, "\r")
		epochs[epoch] = true
	}
	return len(epochs) == 1
}

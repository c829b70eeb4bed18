package enginetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/redisstore"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// keys returns what a server holds besides the epoch.
func (s *redisServer) keys(t *testing.T) (names []string) {
	t.Helper()
	for _, key := range s.command(t, "KEYS", "*").([]any) {
		if key != "tenantkit:epoch" {
			names = append(names, fmt.Sprintf("%q", key))
		}
	}
	return names
}

func TestRedisReplaysAreBounded(t *testing.T) {
	s := startRedis(t)
	replays := openAt(t, s.addr(), redisstore.Options{PerKey: 100}).Replays()
	for i := range uint64(100) {
		expect(t, "N09 within the share of a key", replays.Claim(t.Context(), useNow("flood", i)), nil)
	}
	over := useNow("flood", 100)
	expect(t, "N09 beyond it", replays.Claim(t.Context(), over), signing.ErrFull)
	for i := range uint64(100) {
		expect(t, "N09 nothing is forgotten", replays.Claim(t.Context(), useNow("flood", i)), signing.ErrReplayed)
	}
	expect(t, "N09 another key", replays.Claim(t.Context(), useNow("other", 1)), nil)

	s.command(t, "DEL", "tenantkit:q:flood") // as when its time is over
	expect(t, "N09 what was refused was not recorded", replays.Claim(t.Context(), over), nil)
}

// TestRedisKeysOutliveWhatTheyProtect reads the ends of keys that the server
// has set.
func TestRedisKeysOutliveWhatTheyProtect(t *testing.T) {
	s := startRedis(t)
	replays := s.open(t).Replays()
	u := useNow("key", 1)
	begin := time.Now()
	expect(t, "claim", replays.Claim(t.Context(), u), nil)
	keys := s.keys(t)
	if len(keys) != 3 {
		t.Errorf("a request takes the keys %s", keys)
	}
	for _, key := range s.command(t, "KEYS", "*").([]any) {
		ttl, err := dial(t, s.addr())(t.Context(), "PTTL", key)
		if err != nil {
			t.Fatal(err)
		}
		if key == "tenantkit:epoch" {
			if ttl != int64(-1) {
				t.Errorf("the epoch ends in %v ms", ttl)
			}
			continue
		}
		left := time.Duration(ttl.(int64)) * time.Millisecond
		margin, slow := left-time.Until(u.Keep), time.Since(begin)
		if margin < 55*time.Second || margin > 65*time.Second+slow {
			t.Errorf("%q lives %v longer than the request is remembered", key, margin)
		}
	}
}

// TestRedisClockSteps has the store believe that the server's clock was an hour
// ahead: what expired then may come again.
func TestRedisClockSteps(t *testing.T) {
	s := startRedis(t)
	replays := s.open(t).Replays()
	u := useNow("key", 1)
	expect(t, "N10 before", replays.Claim(t.Context(), u), nil)
	epoch := strings.Fields(s.command(t, "GET", "tenantkit:epoch").(string))
	ahead := time.Now().Add(time.Hour).UnixMilli()
	s.command(t, "FLUSHALL")
	s.command(t, "SET", "tenantkit:epoch", fmt.Sprint(epoch[0], " ", ahead, " ", epoch[2]))
	expect(t, "N10 a replay of what has expired", replays.Claim(t.Context(), u), signing.ErrStale)
	afterEpoch()
	expect(t, "N10 signed when the clock is right again", replays.Claim(t.Context(), useNow("key", 2)), nil)
}

// TestRedisEpochIsTheLaterClock has a verifier ahead of the server: it must not
// be the server's clock that says when memory begins.
func TestRedisEpochIsTheLaterClock(t *testing.T) {
	s := startRedis(t)
	replays := s.open(t).Replays()
	s.command(t, "FLUSHALL")
	ahead := useAt(time.Now().Add(time.Minute), "key", 1)
	ahead.Seen = time.Now().Add(2 * time.Minute)
	expect(t, "signed before the verifier's now", replays.Claim(t.Context(), ahead), signing.ErrStale)
}

// TestRedisForgetsWhatIsOver looks for keys that nobody would ever remove.
func TestRedisForgetsWhatIsOver(t *testing.T) {
	s := startRedis(t)
	stores := storesAt(t, s.addr())
	ctx := t.Context()
	soon := time.Now().Add(time.Hour).Truncate(time.Second)
	for i := range 5 {
		one := sessionOf(fmt.Sprint("short", i))
		one.Account, one.Expires = fmt.Sprint("account", i), soon
		expect(t, "create", stores.sessions.Create(ctx, one, 2), nil)
		next := sessionOf(fmt.Sprint("next", i))
		expect(t, "replace", stores.sessions.Replace(ctx, one.Hash, next), nil)
		r := tokenOf(fmt.Sprint("short", i), 0)
		r.Subject, r.Expires = fmt.Sprint("subject", i), soon
		expect(t, "issue", stores.ledger.Issue(ctx, r, 2), nil)
	}
	expect(t, "over before it begins", stores.ledger.Issue(ctx, expired(), 2), nil)
	over := sessionOf("over")
	over.Expires = over.Created.Add(-time.Second)
	expect(t, "over before it begins", stores.sessions.Create(ctx, over, 2), nil)
	if n := len(s.keys(t)); n != 5*(2+1+2)+1 {
		t.Errorf("%d keys: %s", n, s.keys(t))
	}
	most := time.Until(soon)
	for _, key := range s.command(t, "KEYS", "*").([]any) {
		left := time.Duration(s.command(t, "PTTL", key).(int64)) * time.Millisecond
		if key != "tenantkit:epoch" && (left < 0 || left > most) {
			t.Errorf("%q is left for %v, and all is over in %v", key, left, most)
		}
	}
	s.command(t, "FLUSHALL")

	// One that never expires keeps the others' index, and no longer.
	forever, brief := tokenOf("forever", 0), tokenOf("brief", 0)
	brief.Expires = time.Now().Add(time.Hour)
	expect(t, "issue", stores.ledger.Issue(ctx, brief, 9), nil)
	expect(t, "issue", stores.ledger.Issue(ctx, forever, 9), nil)
	brief.ID = "briefer"
	expect(t, "issue", stores.ledger.Issue(ctx, brief, 9), nil)
	if ttl := s.command(t, "PTTL", "tenantkit:u:3:appann"); ttl != int64(-1) {
		t.Errorf("the index of a token that never expires ends in %v ms", ttl)
	}
	n, err := stores.ledger.RevokeSubject(ctx, "app", "ann")
	if err != nil || n != 3 {
		t.Errorf("RevokeSubject = %d, %v", n, err)
	}
	expect(t, "create", stores.sessions.Create(ctx, sessionOf("one"), 0), nil)
	expect(t, "delete", stores.sessions.Delete(ctx, sessionOf("one").Hash), nil)
	if keys := s.keys(t); keys != nil {
		t.Errorf("left for ever: %s", keys)
	}
}

func expired() token.Record {
	r := tokenOf("expired", 0)
	r.Expires = time.Now().Add(-time.Hour).Truncate(time.Second)
	return r
}

func TestRedisLedgerCountsFar(t *testing.T) {
	stores := storesAt(t, startRedis(t).addr())
	for _, most := range []int64{1<<53 + 1, math.MaxInt64} {
		r := tokenOf(fmt.Sprint(most), most)
		expect(t, "issue", stores.ledger.Issue(t.Context(), r, 10), nil)
		expect(t, "spend", stores.ledger.Spend(t.Context(), r), nil)
		r.MaxUses--
		expect(t, "another count", stores.ledger.Spend(t.Context(), r), token.ErrRevoked)
	}
	list, err := stores.ledger.List(t.Context(), "app", "ann")
	if err != nil || len(list) != 2 {
		t.Fatalf("%d records, %v", len(list), err)
	}
	for _, r := range list {
		if r.Uses != 1 || fmt.Sprint(r.MaxUses) != r.ID {
			t.Errorf("%s: %d of %d uses", r.ID, r.Uses, r.MaxUses)
		}
	}
}

// TestRedisUserNeedsLittle runs all stores as a user that may do what the
// package says it needs, under the prefix.
func TestRedisUserNeedsLittle(t *testing.T) {
	s := startRedis(t)
	s.command(t, "ACL", "SETUSER", "tenantkit", "on", ">password", "~tenantkit:*", "-@all", "+eval", "+evalsha", "+info", "+time",
		"+config|get", "+@string", "+@hash", "+@sortedset", "+@keyspace", "-@dangerous", "+info", "+config|get")
	client := redis.NewClient(&redis.Options{Addr: s.addr(), Username: "tenantkit", Password: "password", MaxRetries: -1})
	t.Cleanup(func() { client.Close() })
	server, err := redisstore.Open(t.Context(), func(ctx context.Context, args ...any) (any, error) { return client.Do(ctx, args...).Result() },
		redisstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	afterEpoch()
	stores := storesOf(t, server)
	for verb, err := range stores.verbs(t.Context(), 1) {
		if err != nil {
			t.Errorf("%s: %v", verb, err)
		}
	}
	if _, err := stores.sessions.DeleteAll(t.Context(), "acme", "", ""); err != nil {
		t.Error(err)
	}
	if err := stores.sessions.Touch(t.Context(), sessionOf("none").Hash, time.Now()); !errors.Is(err, auth.ErrNotFound) {
		t.Error(err)
	}
}

// TestRedisClusterOfOneSlot shows what UnsafeCluster and a hash tag allow.
func TestRedisClusterOfOneSlot(t *testing.T) {
	s := startRedis(t, "--cluster-enabled", "yes")
	s.command(t, "CLUSTER", "ADDSLOTSRANGE", "0", "16383")
	if !until(func() bool { return strings.Contains(s.command(t, "CLUSTER", "INFO").(string), "cluster_state:ok") }) {
		t.Fatal("the cluster does not come up")
	}
	stores := storesOf(t, openAt(t, s.addr(), redisstore.Options{Prefix: "{tenantkit}:", UnsafeCluster: true}))
	for verb, err := range stores.verbs(t.Context(), 1) {
		if err != nil {
			t.Errorf("%s: %v", verb, err)
		}
	}
}

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
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// keys returns the keys of a server except the version and the epoch.
func (s *redisServer) keys(t *testing.T) (names []string) {
	t.Helper()
	for _, key := range s.command(t, "KEYS", "*").([]any) {
		if key != "tenantkit:epoch" && key != "tenantkit:version" {
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
	other := useNow("flood", 100)
	other.Nonce = useNow("flood", 7).Nonce
	expect(t, "N09 nor is a nonce, with another signature", replays.Claim(t.Context(), other), signing.ErrReplayed)
	expect(t, "N09 another key", replays.Claim(t.Context(), useNow("other", 1)), nil)

	s.command(t, "DEL", "tenantkit:q:flood") // as after its expiry
	expect(t, "N09 what was refused was not recorded", replays.Claim(t.Context(), over), nil)
}

// TestRedisTheMillisecondOfTheEpoch claims requests signed in that millisecond and next to it.
func TestRedisTheMillisecondOfTheEpoch(t *testing.T) {
	s := startRedis(t)
	replays := s.open(t).Replays()
	epoch := strings.Fields(s.command(t, "GET", "tenantkit:epoch").(string))
	for i, c := range []struct {
		what   string
		signed time.Duration // time after the begin of the epoch
		want   error
	}{
		{"a millisecond before", -time.Millisecond, signing.ErrStale},
		{"in it", 0, signing.ErrStale},
		{"a millisecond after", time.Millisecond, nil},
	} {
		u := useNow("key", uint64(i))
		began := u.Signed.Add(-c.signed).UnixMilli()
		s.command(t, "SET", "tenantkit:epoch", fmt.Sprint(began, " ", time.Now().UnixMilli(), " ", epoch[2]))
		expect(t, "N13 signed "+c.what, replays.Claim(t.Context(), u), c.want)
	}
}

// TestRedisKeysOutliveWhatTheyProtect reads the expiry of keys from the server.
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
		if key == "tenantkit:epoch" || key == "tenantkit:version" {
			if ttl != int64(-1) {
				t.Errorf("%s ends in %v ms", key, ttl)
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

// TestRedisKeepsASignatureForTheLatest has siblings with different retention times.
func TestRedisKeepsASignatureForTheLatest(t *testing.T) {
	s := startRedis(t)
	replays := s.open(t).Replays()
	for name, longer := range map[string][]time.Duration{
		"the first": {20 * time.Minute, 10 * time.Minute}, "a later one": {10 * time.Minute, 20 * time.Minute},
	} {
		u := useNow(name, 1)
		u.Siblings, u.Window = 8, time.Minute
		for i, keep := range longer {
			u.Nonce, u.Keep = fmt.Sprintf("%016d", i), u.Signed.Add(keep)
			expect(t, name, replays.Claim(t.Context(), u), nil)
		}
		left := s.command(t, "PTTL", "tenantkit:s:"+string(u.Signature[:])+name).(int64)
		if left < (20 * time.Minute).Milliseconds() {
			t.Errorf("longest for %s: the signature ends in %d ms", name, left)
		}
	}
}

// TestRedisClockSteps makes the store believe that the server's clock was an hour ahead: what
// expired then may come again.
func TestRedisClockSteps(t *testing.T) {
	s := startRedis(t)
	replays := s.open(t).Replays()
	u := useNow("key", 1)
	expect(t, "N10 before", replays.Claim(t.Context(), u), nil)
	epoch := strings.Fields(s.command(t, "GET", "tenantkit:epoch").(string))
	ahead := time.Now().Add(time.Hour).UnixMilli()
	s.command(t, "FLUSHALL")
	s.command(t, "MSET", "tenantkit:version", "3", "tenantkit:epoch", fmt.Sprint(epoch[0], " ", ahead, " ", epoch[2]))
	expect(t, "N10 a replay of what has expired", replays.Claim(t.Context(), u), signing.ErrStale)
	afterEpoch()
	expect(t, "N10 signed when the clock is right again", replays.Claim(t.Context(), useNow("key", 2)), nil)
}

// TestRedisEpochIsTheLaterClock has a verifier ahead of the server: the epoch must not begin by the
// server's clock.
func TestRedisEpochIsTheLaterClock(t *testing.T) {
	s := startRedis(t)
	replays := s.open(t).Replays()
	s.command(t, "FLUSHALL")
	ahead := useAt(time.Now().Add(time.Minute), "key", 1)
	ahead.Seen = time.Now().Add(2 * time.Minute)
	expect(t, "signed before the verifier's now", replays.Claim(t.Context(), ahead), signing.ErrStale)
}

// TestRedisEpochWithoutMemory has a server with the epoch of another server, as after a failover.
// It is out of memory when a claim detects that, and has memory again before the next check.
func TestRedisEpochWithoutMemory(t *testing.T) {
	s := startRedis(t)
	replays := s.open(t).Replays()
	before, meanwhile := useNow("key", 1), useNow("key", 2)
	epoch := strings.Fields(s.command(t, "GET", "tenantkit:epoch").(string))
	s.command(t, "SET", "tenantkit:epoch", fmt.Sprint(epoch[0], " ", time.Now().UnixMilli(), " ", strings.Repeat("0", 40)))
	s.command(t, "SCRIPT", "FLUSH")
	s.command(t, "CONFIG", "SET", "maxmemory", "1mb")
	if replays.Claim(t.Context(), meanwhile) == nil {
		t.Error("accepted without memory")
	}
	s.command(t, "CONFIG", "SET", "maxmemory", "0")
	expect(t, "N13 signed before", replays.Claim(t.Context(), before), signing.ErrStale)
	afterEpoch()
	expect(t, "N13 signed anew", replays.Claim(t.Context(), useNow("key", 3)), nil)
}

// TestRedisForgetsWhatIsSpent has tokens without uses left. They are reported as spent for a day,
// but not beyond their own expiry.
func TestRedisForgetsWhatIsSpent(t *testing.T) {
	s := startRedis(t)
	ledger, ctx, day := storesAt(t, s.addr()).ledger, t.Context(), 24*time.Hour
	for name, c := range map[string]struct{ lasts, left time.Duration }{
		"endless": {0, day}, "aweek": {7 * day, day}, "anhour": {time.Hour, time.Hour},
	} {
		r := tokenOf(name, 2)
		if c.lasts > 0 {
			r.Expires = time.Now().Add(c.lasts).Truncate(time.Second)
		}
		expect(t, "Issue", ledger.Issue(ctx, r, nil, 10), nil)
		ends := func() time.Duration {
			return time.Duration(s.command(t, "PTTL", "tenantkit:t:3:app"+name).(int64)) * time.Millisecond
		}
		before := ends()
		expect(t, "one use", spend(ctx, ledger, r), nil)
		if after := ends(); after > before || before-after > time.Minute {
			t.Errorf("%s: ends in %v, and before a use in %v", name, after, before)
		}
		expect(t, "the last use", spend(ctx, ledger, r), nil)
		if left := ends(); left > c.left || left < c.left-time.Minute {
			t.Errorf("%s: is left for %v, want %v", name, left, c.left)
		}
		expect(t, "spent", spend(ctx, ledger, r), token.ErrExhausted)
	}
}

// TestRedisKeepsWhatIsPermanent spends tokens without a number of uses, which must not set an
// expiry.
func TestRedisKeepsWhatIsPermanent(t *testing.T) {
	s := startRedis(t)
	ledger, ctx := storesAt(t, s.addr()).ledger, t.Context()
	endless, week := tokenOf("endless", 0), tokenOf("week", 0)
	week.Expires = time.Now().Add(7 * 24 * time.Hour).Truncate(time.Second)
	for r, want := range map[*token.Record]int64{&endless: -1, &week: week.Expires.UnixMilli() - 1} {
		expect(t, "Issue", ledger.Issue(ctx, *r, nil, 10), nil)
		for range 3 {
			expect(t, "Spend", spend(ctx, ledger, *r), nil)
			if end := s.command(t, "PEXPIRETIME", "tenantkit:t:3:app"+r.ID); end != want {
				t.Errorf("%s: ends at %v, want %v", r.ID, end, want)
			}
		}
	}
}

// TestRedisIndexesHoldNothingElse issues tokens after earlier ones have ended.
func TestRedisIndexesHoldNothingElse(t *testing.T) {
	s := startRedis(t)
	ledger, ctx := storesAt(t, s.addr()).ledger, t.Context()
	for i := range 10 {
		r := tokenOf(fmt.Sprint("id", i), 1)
		expect(t, "Issue", ledger.Issue(ctx, r, nil, 1), nil)
		expect(t, "the one use", spend(ctx, ledger, r), nil)
	}
	for _, key := range s.command(t, "KEYS", "*").([]any) {
		if s.command(t, "TYPE", key) != "zset" {
			continue
		}
		if n := s.command(t, "ZCARD", key); n != int64(1) {
			t.Errorf("%q names %d", key, n)
		}
	}
}

// TestRedisAnOrgForgetsAccounts has expired sessions of accounts that come back and of accounts
// that do not. The next session must remove the entries of the second kind.
func TestRedisAnOrgForgetsAccounts(t *testing.T) {
	s := startRedis(t)
	sessions, ctx := storesAt(t, s.addr()).sessions, t.Context()
	end := time.Now().Add(300 * time.Millisecond).Truncate(time.Millisecond)
	for i := range 2 { // these two come back
		lasting := sessionOf(fmt.Sprint("lasting", i))
		lasting.Account = fmt.Sprint("account", i)
		expect(t, "Create", sessions.Create(ctx, lasting, 0), nil)
	}
	for i := range 4 {
		for _, limit := range []int{0, 4} {
			one := sessionOf(fmt.Sprint("over", i, limit))
			one.Account, one.Expires = fmt.Sprint("account", i), end
			expect(t, "Create", sessions.Create(ctx, one, limit), nil)
		}
	}
	time.Sleep(time.Until(end))
	for i, limit := range []int{0, 4} {
		one := sessionOf(fmt.Sprint("next", i))
		one.Account = fmt.Sprint("account", i)
		expect(t, "Create", sessions.Create(ctx, one, limit), nil)
		if n := s.command(t, "ZCARD", "tenantkit:a:4:acme"+one.Account); n != int64(2) {
			t.Errorf("limit %d: the account's sessions are %v, want two", limit, n)
		}
	}
	if n := s.command(t, "ZCARD", "tenantkit:o:4:acme"); n != int64(2) {
		t.Errorf("the org has %v accounts with sessions, want two", n)
	}
}

// TestRedisForgetsWhatIsOver looks for keys that nothing would ever remove.
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
		expect(t, "replace", stores.sessions.Replace(ctx, one.Org, one.Hash, next), nil)
		r := tokenOf(fmt.Sprint("short", i), 0)
		r.Subject, r.Expires = fmt.Sprint("subject", i), soon
		expect(t, "issue", stores.ledger.Issue(ctx, r, nil, 2), nil)
	}
	expect(t, "over before it begins", stores.ledger.Issue(ctx, expired(), nil, 2), nil)
	over := sessionOf("over")
	over.Expires = over.Created.Add(-time.Second)
	expect(t, "over before it begins", stores.sessions.Create(ctx, over, 2), nil)
	if n := len(s.keys(t)); n != 5*(2+1+2)+3 {
		t.Errorf("%d keys: %s", n, s.keys(t))
	}
	// The time to live of an index is relative: it counts from a moment that Redis reads after the time that
	// the script has read, so a pause of the machine makes it longer.
	for _, key := range s.command(t, "KEYS", "*").([]any) {
		end := s.command(t, "PEXPIRETIME", key).(int64)
		if key != "tenantkit:epoch" && key != "tenantkit:version" && (end < 0 || end > soon.UnixMilli()+1000) {
			t.Errorf("%q expires at %d, and everything has expired at %d", key, end, soon.UnixMilli())
		}
	}
	s.command(t, "FLUSHALL")

	// A record that never expires keeps the index of the others, but only as long as it exists.
	forever, brief := tokenOf("forever", 0), tokenOf("brief", 0)
	brief.Expires = time.Now().Add(time.Hour)
	expect(t, "issue", stores.ledger.Issue(ctx, brief, nil, 9), nil)
	expect(t, "issue", stores.ledger.Issue(ctx, forever, nil, 9), nil)
	brief.ID = "briefer"
	expect(t, "issue", stores.ledger.Issue(ctx, brief, nil, 9), nil)
	for _, index := range []string{"tenantkit:u:3:appann", "tenantkit:l:app"} {
		if ttl := s.command(t, "PTTL", index); ttl != int64(-1) {
			t.Errorf("%s, with a token that never expires, ends in %v ms", index, ttl)
		}
	}
	n, err := stores.ledger.RevokeSubject(ctx, heldBy("app", "ann"))
	if err != nil || n != 3 {
		t.Errorf("RevokeSubject = %d, %v", n, err)
	}
	expect(t, "issue", stores.ledger.Issue(ctx, forever, nil, 9), nil)
	expect(t, "revoke", stores.ledger.Revoke(ctx, forever.Holder(), forever.ID), nil)
	expect(t, "create", stores.sessions.Create(ctx, sessionOf("one"), 0), nil)
	expect(t, "delete", stores.sessions.Delete(ctx, "acme", sessionOf("one").Hash), nil)
	if keys := s.keys(t); keys != nil {
		t.Errorf("left for ever: %s", keys)
	}
}

// TestRedisAnAppForgetsTokens has expired tokens of subjects that do not come back. Those that are
// issued later must remove them from the index of the app, but not the others.
func TestRedisAnAppForgetsTokens(t *testing.T) {
	s := startRedis(t)
	ledger, ctx := storesAt(t, s.addr()).ledger, t.Context()
	const many = 50
	end := time.Now().Add(2 * time.Second).Truncate(time.Second)
	issue := func(kind string, expires time.Time) {
		t.Helper()
		for i := range many {
			r := tokenOf(fmt.Sprint(kind, i), 0)
			r.Subject, r.Expires = r.ID, expires
			expect(t, "Issue", ledger.Issue(ctx, r, nil, 1), nil)
		}
	}
	issue("lasting", time.Time{})
	issue("brief", end)
	time.Sleep(time.Until(end))
	issue("next", time.Time{})
	if n := s.command(t, "ZCARD", "tenantkit:l:app").(int64); n < 2*many || n > 2*many+many/2 {
		t.Errorf("the index of the app names %d, want the %d live ones and few others", n, 2*many)
	}
	if list := listed(t, ledger, heldBy("app", token.Any)); len(list) != 2*many {
		t.Errorf("%d are listed, want %d", len(list), 2*many)
	}
}

// TestRedisEndsManyKeys has more sessions than one call of a command takes keys.
func TestRedisEndsManyKeys(t *testing.T) {
	s := startRedis(t)
	sessions, ctx := storesAt(t, s.addr()).sessions, t.Context()
	const many = 2500
	create := func(org, account string, n int) (last session.Session) {
		for i := range n {
			last = sessionOf(fmt.Sprint(org, account, i))
			last.Org, last.Account = auth.OrgKey(org), account
			expect(t, "create", sessions.Create(ctx, last, 0), nil)
		}
		return last
	}
	create("acme", "bob", 2)
	create("globex", "ann", 2)
	spared := create("acme", "ann", many)
	n, err := sessions.DeleteAll(ctx, "acme", "ann", spared.ID)
	if n != many-1 || err != nil {
		t.Errorf("DeleteAll = %d, %v", n, err)
	}
	// The keys: the sessions, the index of each account, and the index of each org.
	if keys := s.keys(t); len(keys) != 1+2+2+3+2 {
		t.Errorf("%d keys are left: %.300s", len(keys), keys)
	}
	create("acme", "cay", many)
	if n, err := sessions.DeleteOrg(ctx, "acme"); n != 1+2+many || err != nil {
		t.Errorf("DeleteOrg = %d, %v", n, err)
	}
	if keys := s.keys(t); len(keys) != 2+1+1 {
		t.Errorf("%d keys are left: %.300s", len(keys), keys)
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
		expect(t, "issue", stores.ledger.Issue(t.Context(), r, nil, 10), nil)
		expect(t, "spend", spend(t.Context(), stores.ledger, r), nil)
		r.MaxUses--
		expect(t, "another count", spend(t.Context(), stores.ledger, r), token.ErrRevoked)
	}
	list, _, err := stores.ledger.List(t.Context(), heldBy("app", "ann"), token.Position{}, token.MaxPage)
	if err != nil || len(list) != 2 {
		t.Fatalf("%d records, %v", len(list), err)
	}
	for _, r := range list {
		if r.Uses != 1 || fmt.Sprint(r.MaxUses) != r.ID {
			t.Errorf("%s: %d of %d uses", r.ID, r.Uses, r.MaxUses)
		}
	}
}

// TestRedisUserNeedsLittle runs all stores as a user with only the permissions that the package
// comment lists, under the prefix.
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
	expect(t, "RevokeAccount", server.RevokeAccount(t.Context(), "acme", "ann"), nil)
	expect(t, "DeleteOrg", server.DeleteOrg(t.Context(), "acme"), nil)
	if _, err := stores.sessions.DeleteOrg(t.Context(), "acme"); err != nil {
		t.Error(err)
	}
	if err := stores.sessions.Touch(t.Context(), "acme", sessionOf("none").Hash, time.Now()); !errors.Is(err, auth.ErrNotFound) {
		t.Error(err)
	}
}

// TestRedisVerbsOnAnotherVersion has instances that run while another version begins anew on the
// same keys. See TestK35AnotherRelease.
func TestRedisVerbsOnAnotherVersion(t *testing.T) {
	s := startRedis(t)
	stores := storesAt(t, s.addr())
	one := sessionOf("ann")
	expect(t, "Create", stores.sessions.Create(t.Context(), one, 1), nil)
	s.command(t, "SET", "tenantkit:version", "4")
	for verb, err := range stores.verbs(t.Context(), 1) {
		expect(t, verb, err, auth.ErrUnavailable)
	}
	_, err := stores.sessions.Get(t.Context(), one.Org, one.Hash)
	expect(t, "Get", err, auth.ErrUnavailable)
	_, err = stores.attempts.Load(t.Context(), "acme", "key")
	expect(t, "Load", err, auth.ErrUnavailable)
	_, err = stores.attempts.Swap(t.Context(), "acme", "key", "", "1")
	expect(t, "Swap", err, auth.ErrUnavailable)
}

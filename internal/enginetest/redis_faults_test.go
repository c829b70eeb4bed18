package enginetest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/redisstore"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// redisStores are the four stores of one server.
type redisStores struct {
	replays  signing.Replays
	ledger   token.Ledger
	sessions session.Store
	attempts session.Attempts
}

func storesAt(t testing.TB, addr string) redisStores {
	t.Helper()
	return storesOf(t, openAt(t, addr, redisstore.Options{}))
}

func storesOf(t testing.TB, server *redisstore.Store) redisStores {
	t.Helper()
	return redisStores{server.Replays(), server.Ledger(), server.Sessions(), server.Attempts()}
}

func tokenOf(id string, uses int64) token.Record {
	return token.Record{ID: id, Org: "acme", ClientKey: "app", Subject: "ann", KeyID: "kid", MaxUses: uses,
		Issued: time.Now().Truncate(time.Second)}
}

func sessionOf(name string) session.Session {
	now := time.Now().Truncate(time.Millisecond).UTC()
	hash := sha256.Sum256([]byte(name))
	return session.Session{Hash: hash, ID: fmt.Sprintf("%x", hash[:16]), Org: "acme", Account: "ann",
		Created: now, Authenticated: now, Seen: now, Expires: now.Add(time.Hour), Address: "192.0.2.1", Agent: "test"}
}

func expect(t testing.TB, what string, got, want error) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateErrors()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// verbs calls one method of each store, which must return when its context ends.
func (s redisStores) verbs(ctx context.Context, i uint64) map[string]error {
	_, try := countUp(ctx, s.attempts, "key")
	_, get := s.sessions.Get(ctx, "acme", sessionOf(fmt.Sprint("verbs", i)).Hash)
	if errors.Is(get, auth.ErrNotFound) {
		get = nil
	}
	return map[string]error{
		"Claim":  s.replays.Claim(ctx, useNow("verbs", i)),
		"Issue":  s.ledger.Issue(ctx, tokenOf(fmt.Sprint("verbs", i), 0), nil, 1<<30),
		"Create": s.sessions.Create(ctx, sessionOf(fmt.Sprint("created", i)), 0),
		"Get":    get,
		"Try":    try,
	}
}

// eventually waits until all methods succeed again, without any help.
func (s redisStores) eventually(t *testing.T, first uint64) {
	t.Helper()
	var errs map[string]error
	recovers := until(func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		errs = s.verbs(ctx, first)
		first++
		return !slices.ContainsFunc(slices.Collect(maps.Values(errs)), func(err error) bool { return err != nil })
	})
	if !recovers {
		t.Errorf("does not recover: %v", errs)
	}
}

func TestK05RedisIsKilled(t *testing.T) {
	t.Run("K05 synced always", func(t *testing.T) {
		testRedisIsKilled(t, startRedis(t, "--appendfsync", "always"), func() {})
	})
	t.Run("K05 synced every second, and after that", func(t *testing.T) {
		s := startRedis(t)
		testRedisIsKilled(t, s, func() { s.written(t) })
	})
}

// written waits until the server has written all that it has confirmed. With everysec it delays
// writes during a sync.
func (s *redisServer) written(t *testing.T) {
	t.Helper()
	if !until(func() bool {
		return strings.Contains(s.command(t, "INFO", "persistence").(string), "aof_buffer_length:0\r\n")
	}) {
		t.Fatal("the append-only file is not written")
	}
}

func testRedisIsKilled(t *testing.T, s *redisServer, settle func()) {
	stores := storesAt(t, s.addr())
	ctx := t.Context()

	uses := make([]signing.Use, 200)
	for i := range uses {
		uses[i] = useNow("key", uint64(i))
		if i%2 == 1 { // signed so far ahead of the clock that no new epoch makes it stale
			uses[i].Signed = uses[i].Signed.Add(30 * time.Second)
		}
		expect(t, "before", stores.replays.Claim(ctx, uses[i]), nil)
	}
	limited, revoked := tokenOf("limited", 3), tokenOf("revoked", 0)
	expect(t, "issue", stores.ledger.Issue(ctx, limited, nil, 10), nil)
	expect(t, "issue", stores.ledger.Issue(ctx, revoked, nil, 10), nil)
	expect(t, "spend", spend(ctx, stores.ledger, limited), nil)
	expect(t, "revoke", stores.ledger.Revoke(ctx, heldBy("app", token.Any), "revoked"), nil)
	kept, ended := sessionOf("kept"), sessionOf("ended")
	expect(t, "create", stores.sessions.Create(ctx, kept, 0), nil)
	expect(t, "create", stores.sessions.Create(ctx, ended, 0), nil)
	expect(t, "delete", stores.sessions.Delete(ctx, ended.Org, ended.Hash), nil)
	for range 2 {
		_, err := countUp(ctx, stores.attempts, "key")
		expect(t, "try", err, nil)
	}

	settle()
	s.kill(t)
	short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	for verb, err := range stores.verbs(short, 1000) {
		if err == nil {
			t.Errorf("%s succeeded without a server", verb)
		}
	}
	cancel()
	s.start(t)

	for i, u := range uses {
		u.Seen = time.Now()
		if err := stores.replays.Claim(ctx, u); !errors.Is(err, signing.ErrStale) && !errors.Is(err, signing.ErrReplayed) {
			t.Errorf("request %d again: %v", i, err)
		}
	}
	expect(t, "signed anew", stores.replays.Claim(ctx, useNow("key", 5000)), nil)
	expect(t, "second use", spend(ctx, stores.ledger, limited), nil)
	expect(t, "third use", spend(ctx, stores.ledger, limited), nil)
	expect(t, "fourth use of three", spend(ctx, stores.ledger, limited), token.ErrExhausted)
	expect(t, "revoked token", spend(ctx, stores.ledger, revoked), token.ErrRevoked)
	got, err := stores.sessions.Get(ctx, kept.Org, kept.Hash)
	expect(t, "session", err, nil)
	if diff := cmp.Diff(kept, got); diff != "" {
		t.Errorf("session (-want +got):\n%s", diff)
	}
	_, err = stores.sessions.Get(ctx, ended.Org, ended.Hash)
	expect(t, "ended session", err, auth.ErrNotFound)
	if count, err := countUp(ctx, stores.attempts, "key"); err != nil || count < 2 {
		t.Errorf("tries are forgotten: %d, %v", count, err)
	}
	stores.eventually(t, 6000)
}

// TestK05RedisIsKilledUnderLoad kills the server during calls. It has executed some of them and not
// answered.
func TestK05RedisIsKilledUnderLoad(t *testing.T) {
	leftToTheGate(t)
	t.Parallel()
	s := startRedis(t, "--appendfsync", "always")
	stores := storesAt(t, s.addr())
	const uses = 5000
	limited := tokenOf("limited", uses)
	expect(t, "issue", stores.ledger.Issue(t.Context(), limited, nil, 10), nil)

	var spent, begun atomic.Int64
	var mu sync.Mutex
	var accepted []signing.Use
	var ended [][32]byte
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for g := range uint64(4) {
		wg.Go(func() {
			for i := g << 32; ctx.Err() == nil; i++ {
				u := useAt(time.Now().Add(50*time.Second), "key", i) // no new epoch makes it stale
				one := sessionOf(fmt.Sprint("load", i))
				claimed := stores.replays.Claim(ctx, u)
				_ = stores.sessions.Create(ctx, one, 0)
				deleted := stores.sessions.Delete(ctx, one.Org, one.Hash)
				begun.Add(1)
				if spend(ctx, stores.ledger, limited) == nil {
					spent.Add(1)
				}
				mu.Lock()
				if claimed == nil {
					accepted = append(accepted, u)
				}
				if deleted == nil {
					ended = append(ended, one.Hash)
				}
				mu.Unlock()
			}
		})
	}
	for range 3 {
		time.Sleep(300 * time.Millisecond)
		s.kill(t)
		time.Sleep(50 * time.Millisecond)
		s.start(t)
	}
	time.Sleep(300 * time.Millisecond)
	cancel()
	wg.Wait()
	stores.eventually(t, 1)

	for _, u := range accepted {
		if err := stores.replays.Claim(t.Context(), u); !errors.Is(err, signing.ErrReplayed) && !errors.Is(err, signing.ErrStale) {
			t.Errorf("accepted before, and then: %v", err)
		}
	}
	for _, hash := range ended {
		if _, err := stores.sessions.Get(t.Context(), "acme", hash); !errors.Is(err, auth.ErrNotFound) {
			t.Errorf("a session that was ended: %v", err)
		}
	}
	before := spent.Load()
	for spend(t.Context(), stores.ledger, limited) == nil {
		spent.Add(1)
	}
	if spent.Load() > uses {
		t.Errorf("%d uses of %d were accepted, %d of them under load", spent.Load(), uses, before)
	}
	t.Logf("%d rounds, %d accepted, %d spent under load, %d in all", begun.Load(), len(accepted), before, spent.Load())
}

// TestK05RedisDoesNotAnswer tests a stopped server, a cut connection and slow replies.
func TestK05RedisDoesNotAnswer(t *testing.T) {
	t.Parallel()
	const deadline = 300 * time.Millisecond
	s := startRedis(t)
	p := startProxy(t, s.addr())
	stores := storesAt(t, p.addr())
	stores.eventually(t, 0)
	for i, c := range []struct {
		name       string
		begin, end func()
	}{
		{"stopped", func() { s.signal(t, syscall.SIGSTOP) }, func() { s.signal(t, syscall.SIGCONT) }},
		{"black hole", func() { p.set(true, 0) }, func() { p.set(false, 0); p.cut() }},
		{"slow", func() { p.set(false, time.Hour) }, func() { p.set(false, 0) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			first := uint64(i+1) * 1000
			u, one := useNow("ambiguous", first), tokenOf(fmt.Sprint("ambiguous", i), 1)
			expect(t, "issue", stores.ledger.Issue(t.Context(), one, nil, 1<<30), nil)
			c.begin()
			calls := map[string]func(context.Context) error{
				"Claim": func(ctx context.Context) error { return stores.replays.Claim(ctx, u) },
				"Spend": func(ctx context.Context) error { return spend(ctx, stores.ledger, one) },
				"Get": func(ctx context.Context) error {
					_, err := stores.sessions.Get(ctx, "acme", sessionOf("x").Hash)
					return err
				},
				"Create": func(ctx context.Context) error { return stores.sessions.Create(ctx, sessionOf("x"), 0) },
				"Try":    func(ctx context.Context) error { _, err := countUp(ctx, stores.attempts, "k"); return err },
			}
			for verb, call := range calls {
				ctx, cancel := context.WithTimeout(t.Context(), deadline)
				begin := time.Now()
				err := call(ctx)
				cancel()
				if took := time.Since(begin); took > late {
					t.Errorf("%s took %v", verb, took)
				}
				for _, answer := range []error{nil, signing.ErrReplayed, signing.ErrStale, signing.ErrFull, token.ErrRevoked,
					token.ErrExhausted, auth.ErrNotFound, session.ErrEvicted} {
					if errors.Is(err, answer) {
						t.Errorf("%s = %v, of a server that has not answered", verb, err)
					}
				}
			}
			c.end()
			stores.eventually(t, first+1)
			// A sent command may have been executed, but never twice.
			accepted := 0
			for range 3 {
				if stores.replays.Claim(t.Context(), u) == nil {
					accepted++
				}
			}
			if accepted > 1 {
				t.Errorf("the request was accepted %d times", accepted)
			}
		})
	}
}

func TestK05RedisIsNotFit(t *testing.T) {
	type want struct{ setting, value, remedy string }
	eviction := want{"maxmemory-policy", "allkeys-lru", "CONFIG SET maxmemory-policy noeviction"}
	noFile := want{"appendonly", "no", "CONFIG SET appendonly yes"}
	for _, c := range []struct {
		name    string
		set     []string
		options redisstore.Options
		want    []want
	}{
		{"fit", nil, redisstore.Options{}, nil},
		{"an evicting policy", []string{"--maxmemory-policy", "allkeys-lru"}, redisstore.Options{}, []want{eviction}},
		{"an evicting policy, asked for", []string{"--maxmemory-policy", "allkeys-lru"},
			redisstore.Options{UnsafeEviction: true}, nil},
		{"no append-only file", []string{"--appendonly", "no"}, redisstore.Options{}, []want{noFile}},
		{"no append-only file, asked for", []string{"--appendonly", "no"},
			redisstore.Options{UnsafeNoAppendOnly: true}, nil},
		{"K33 no sync while the file is rewritten", []string{"--appendfsync", "always", "--no-appendfsync-on-rewrite", "yes"}, redisstore.Options{},
			[]want{{"no-appendfsync-on-rewrite", "yes", "CONFIG SET no-appendfsync-on-rewrite no"}}},
		{"no sync", []string{"--appendfsync", "no"}, redisstore.Options{},
			[]want{{"appendfsync", "no", "CONFIG SET appendfsync everysec"}}},
		{"a replica", []string{"--replicaof", "127.0.0.1 1"}, redisstore.Options{},
			[]want{{"role", "slave", "connect to the primary"}}},
		{"CONFIG is forbidden", []string{"--rename-command", "CONFIG", ""}, redisstore.Options{},
			[]want{{"appendfsync", "unknown", "UnsafeUnknown"}}},
		{"CONFIG is forbidden, and taken for right", []string{"--rename-command", "CONFIG", ""},
			redisstore.Options{UnsafeUnknown: true}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := startRedis(t, c.set...)
			_, err := redisstore.Open(t.Context(), dial(t, s.addr()), c.options)
			if c.want == nil {
				expect(t, "Open", err, nil)
			}
			for _, w := range c.want {
				var setting *auth.SettingError
				if !errors.As(err, &setting) || setting.Setting != w.setting || setting.Value != w.value ||
					!strings.Contains(setting.Remedy, w.remedy) {
					t.Errorf("%v, want %+v", err, w)
				}
			}
		})
	}
}

func TestK05RedisIsFull(t *testing.T) {
	s := startRedis(t)
	stores := storesAt(t, s.addr())
	ctx := t.Context()
	kept, one := sessionOf("kept"), tokenOf("one", 2)
	expect(t, "create", stores.sessions.Create(ctx, kept, 0), nil)
	expect(t, "issue", stores.ledger.Issue(ctx, one, nil, 10), nil)
	expect(t, "spend", spend(ctx, stores.ledger, one), nil)
	uses := make([]signing.Use, 100)
	for i := range uses {
		uses[i] = useNow("key", uint64(i))
		expect(t, "before", stores.replays.Claim(ctx, uses[i]), nil)
	}

	s.command(t, "CONFIG", "SET", "maxmemory", "1mb")
	for i, u := range uses {
		if stores.replays.Claim(ctx, u) == nil {
			t.Errorf("request %d was accepted twice", i)
		}
	}
	err := stores.replays.Claim(ctx, useNow("key", 500))
	if err == nil || errors.Is(err, signing.ErrReplayed) || errors.Is(err, signing.ErrStale) {
		t.Errorf("a new request, with nowhere to record it: %v", err)
	}
	if err := stores.sessions.Create(ctx, sessionOf("new"), 1); err == nil {
		t.Error("a session was created with no memory for it")
	}
	if err := stores.ledger.Issue(ctx, tokenOf("new", 0), nil, 10); err == nil {
		t.Error("a token was issued with no memory for it")
	}
	_, err = stores.sessions.Get(ctx, kept.Org, kept.Hash)
	expect(t, "what a failed Create might have ended", err, nil)
	expect(t, "ending a session", stores.sessions.Delete(ctx, kept.Org, kept.Hash), nil)
	_, err = stores.sessions.Get(ctx, kept.Org, kept.Hash)
	expect(t, "which has ended", err, auth.ErrNotFound)

	s.command(t, "CONFIG", "SET", "maxmemory", "0")
	for i, u := range uses {
		if stores.replays.Claim(ctx, u) == nil {
			t.Errorf("request %d was accepted twice", i)
		}
	}
	expect(t, "second use", spend(ctx, stores.ledger, one), nil)
	expect(t, "third use of two", spend(ctx, stores.ledger, one), token.ErrExhausted)
	stores.eventually(t, 10_000)
}

// TestRedisForgets claims all the time while the server loses its memory.
func TestRedisForgets(t *testing.T) {
	leftToTheGate(t)
	t.Parallel()
	for _, c := range []struct {
		name string
		lose func(t *testing.T, s *redisServer)
	}{
		{"N13 restarted empty", func(t *testing.T, s *redisServer) { s.kill(t); s.forget(t); s.start(t) }},
		{"N13 flushed", func(t *testing.T, s *redisServer) { s.command(t, "FLUSHALL") }},
		{"N13 flushed, and scripts too", func(t *testing.T, s *redisServer) {
			s.command(t, "FLUSHALL")
			s.command(t, "SCRIPT", "FLUSH")
		}},
		{"N13 restarted with a file that lacks the end", func(t *testing.T, s *redisServer) {
			// The state that a power loss leaves with everysec: the epoch is there, and claims are
			// missing.
			epoch := s.command(t, "GET", "tenantkit:epoch")
			s.command(t, "FLUSHALL")
			// With everysec the server delays writes during a sync, and the kill would lose them.
			s.command(t, "CONFIG", "SET", "appendfsync", "always")
			s.command(t, "MSET", "tenantkit:epoch", epoch, "tenantkit:version", "3")
			s.kill(t)
			s.start(t)
			if got := s.command(t, "GET", "tenantkit:epoch"); got != epoch {
				t.Errorf("the epoch before is %v, want %v", got, epoch)
			}
		}},
		{"K32 a replica promoted, and back", func(t *testing.T, s *redisServer) {
			// The primary becomes a replica of a server with the epoch and without claims, and then a
			// primary again. That is the state after a failover to the same address.
			// K32: the server knows the script, and the latest claim that it has is a moment old.
			epoch := strings.Fields(s.command(t, "GET", "tenantkit:epoch").(string))
			other := startRedis(t)
			other.command(t, "SET", "tenantkit:version", "3")
			s.command(t, "REPLICAOF", "127.0.0.1", other.port)
			do := dial(t, s.addr())
			follow := func(what string, args ...any) {
				t.Helper()
				if !until(func() bool {
					got, err := do(t.Context(), args...) // refused while the server loads
					return err == nil && fmt.Sprint(got) == what
				}) {
					t.Fatal("does not follow")
				}
			}
			follow("1", "DBSIZE")
			latest := fmt.Sprint(epoch[0], " ", time.Now().UnixMilli(), " ", epoch[2])
			other.command(t, "SET", "tenantkit:epoch", latest)
			follow(latest, "GET", "tenantkit:epoch")
			s.command(t, "REPLICAOF", "NO", "ONE")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := startRedis(t)
			replays := s.open(t).Replays()
			time.Sleep(1100 * time.Millisecond) // so that a claim checks the server, and the epoch stores its id
			var before []signing.Use
			for i := range uint64(500) {
				u := useNow("key", i)
				expect(t, "before", replays.Claim(t.Context(), u), nil)
				before = append(before, u)
			}
			c.lose(t, s)

			var stale, others int
			var first error
			for i, u := range before {
				u.Seen = time.Now()
				err := replays.Claim(t.Context(), u)
				for i == 0 && err != nil && !errors.Is(err, signing.ErrStale) { // connections from before the restart
					first = err
					err = replays.Claim(t.Context(), u)
				}
				if errors.Is(err, signing.ErrStale) {
					stale++
				} else {
					others++
				}
			}
			if others > 0 {
				t.Errorf("%d stale, %d not; at first %v", stale, others, first)
			}
			afterEpoch()
			expect(t, "signed anew", replays.Claim(t.Context(), useNow("key", 1000)), nil)
		})
	}
}

// TestOneWrongClock begins an epoch by the claim of a verifier whose clock is an hour ahead.
func TestOneWrongClock(t *testing.T) {
	s := startRedis(t)
	replays := s.open(t).Replays()
	s.command(t, "FLUSHALL")
	wrong := useNow("key", 1)
	wrong.Seen = time.Now().Add(time.Hour)
	expect(t, "N13 the claim that begins it", replays.Claim(t.Context(), wrong), signing.ErrStale)
	for i, c := range []struct {
		ahead time.Duration
		want  error
	}{{4 * time.Minute, signing.ErrStale}, {6 * time.Minute, nil}} {
		u := useAt(time.Now().Add(c.ahead), "key", uint64(10+i))
		expect(t, "N13 signed "+c.ahead.String()+" ahead", replays.Claim(t.Context(), u), c.want)
	}
}

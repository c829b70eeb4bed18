package enginetest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/redisstore"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/internal/history"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// spoiledScripts are mistakes in scripts: what is replaced, and by what.
var spoiledScripts = map[string][]string{
	"a refused claim leaves its nonce":     {"    return 1\n  end\n  sight", "    call('SET', KEYS[3], '', 'PXAT', ARGV[4])\n    return 1\n  end\n  sight"},
	"a claim is kept from its arrival on":  {"'NX', 'PXAT', ARGV[4]", "'NX', 'PX', 100", "'PXAT', ends)", "'PX', 100)"},
	"the epoch goes back":                  {"begin = math.max(now, math.min(tonumber(ARGV[1]), now + 300000))", "begin = 0"},
	"a cascade of one level":               {"most, uses, parent = unpack(redis.call('HMGET', prefix .. parent, 'm', 'n', 'p'))", "most, uses, parent = unpack(redis.call('HMGET', prefix .. parent, 'm', 'n'))"},
	"a fence is not compared":              {"redis.call('HGET', entry, 'f') ~= ARGV[5]", "not redis.call('HGET', entry, 'f')"},
	"uses of API keys are not compared":    {"if not r[1] or r[1] ~= '0' and tonumber(r[2]) >= tonumber(r[1]) then", "if not r[1] then"},
	"an eviction takes the newest":         {"table.sort(same, function(a, b) return a[1] < b[1]", "table.sort(same, function(a, b) return a[1] > b[1]"},
	"a logout forgets the renewed session": {"  key = ARGV[2] .. hash", "  return 0"},
}

// spoiledDo spoils the scripts of a Do, or has a use counted by reading and writing.
func spoiledDo(i *historyInstance, do redisstore.Do) redisstore.Do {
	replace := spoiledScripts[i.Sabotage]
	twice := i.Sabotage == "a use is read and then written"
	if i.Sabotage == "reads go to a replica" {
		replica := dialed(i.At[1])
		return func(ctx context.Context, args ...any) (any, error) {
			if args[0] == "MGET" {
				return replica(ctx, args...)
			}
			return do(ctx, args...)
		}
	}
	if replace == nil && !twice {
		return do
	}
	return func(ctx context.Context, args ...any) (any, error) {
		if args[0] == "EVALSHA" {
			return nil, errors.New("NOSCRIPT")
		}
		if args[0] != "EVAL" {
			return do(ctx, args...)
		}
		text := args[1].(string)
		if twice && strings.Contains(text, "redis.call('HINCRBY', KEYS[1], 'n', 1) >= most") {
			n, _ := do(ctx, "HGET", args[3], "n")
			args[1] = strings.Replace(text, "redis.call('HINCRBY', KEYS[1], 'n', 1) >= most", "false", 1)
			reply, err := do(ctx, args...)
			if _, ok := reply.([]any); ok {
				used, _ := strconv.Atoi(fmt.Sprint(n))
				do(ctx, "HSET", args[3], "n", strconv.Itoa(used+1))
			}
			return reply, err
		}
		args[1] = strings.NewReplacer(replace...).Replace(text)
		return do(ctx, args...)
	}
}

// sabotages are mistakes around stores.
var sabotages = map[string]func(*history.Stores){
	"a revocation is cached": func(s *history.Stores) { s.Ledger = &cachingLedger{Ledger: s.Ledger} },
	"a late answer counts as a refusal": func(s *history.Stores) {
		s.Ledger = &hastyLedger{s.Ledger}
	},
	"a subject is revoked without a lock": func(s *history.Stores) { s.Ledger = &looseLedger{s.Ledger} },
	"a limit is checked before the lock":  func(s *history.Stores) { s.Ledger = &unlimitedLedger{s.Ledger} },
	"Touch makes an ended session again":  func(s *history.Stores) { s.Sessions = &revivingSessions{Store: s.Sessions} },
	"a version is not compared": func(s *history.Stores) {
		s.Factors = &laxFactors{s.Factors}
	},
	"a commit is two": func(s *history.Stores) {
		commit := s.Commit
		s.Commit = func(ctx context.Context, r token.Record, row string, undo bool) error {
			if !undo {
				if err := s.Ledger.Issue(ctx, r, nil, 100); err != nil {
					return err
				}
				time.Sleep(5 * time.Millisecond)
				r.ID += "2"
			}
			return commit(ctx, r, row, undo)
		}
	},
	"a replaced key signs on": func(s *history.Stores) {
		signer, known := s.Signer, sync.Map{}
		s.Signer = func(ctx context.Context, org auth.OrgKey, app string) (string, error) {
			if kid, ok := known.Load(app); ok {
				return kid.(string), nil
			}
			kid, err := signer(ctx, org, app)
			if err == nil {
				known.Store(app, kid)
			}
			return kid, err
		}
	},
	"a claim asks before it records": func(s *history.Stores) { s.Replays = &askingReplays{of: s.Replays, known: map[string]bool{}} },
}

// askingReplays records what it has accepted after it has asked.
type askingReplays struct {
	of    signing.Replays
	mu    sync.Mutex
	known map[string]bool
}

func (a *askingReplays) Claim(ctx context.Context, u signing.Use) error {
	a.mu.Lock()
	taken := a.known[u.ClientKey+u.Nonce]
	a.mu.Unlock()
	if taken {
		return signing.ErrReplayed
	}
	time.Sleep(time.Millisecond)
	a.mu.Lock()
	a.known[u.ClientKey+u.Nonce] = true
	a.mu.Unlock()
	return nil
}

type cachingLedger struct {
	token.Ledger
	known sync.Map
}

func (c *cachingLedger) Spend(ctx context.Context, r token.Record) (token.Lineage, error) {
	key := r.ClientKey + r.ID
	if l, ok := c.known.Load(key); ok && r.MaxUses == 0 {
		return l.(token.Lineage), nil
	}
	l, err := c.Ledger.Spend(ctx, r)
	if err == nil {
		c.known.Store(key, l)
		time.AfterFunc(200*time.Millisecond, func() { c.known.Delete(key) })
	}
	return l, err
}

type hastyLedger struct{ token.Ledger }

func (h *hastyLedger) Spend(ctx context.Context, r token.Record) (token.Lineage, error) {
	begun := time.Now()
	l, err := h.Ledger.Spend(ctx, r)
	if err == nil && time.Since(begun) > 2*time.Millisecond {
		return token.Lineage{}, token.ErrRevoked
	}
	return l, err
}

type looseLedger struct{ token.Ledger }

func (l *looseLedger) RevokeSubject(ctx context.Context, of token.Holder) (n int, err error) {
	for r, err := range token.Records(ctx, l.Ledger, of) {
		if err != nil {
			return n, err
		}
		time.Sleep(2 * time.Millisecond)
		if l.Ledger.Revoke(ctx, of, r.ID) == nil {
			n++
		}
	}
	return n, nil
}

type unlimitedLedger struct{ token.Ledger }

func (u *unlimitedLedger) Issue(ctx context.Context, r token.Record, verifying []string, limit int) error {
	page, _, err := u.List(ctx, r.Holder(), token.Position{}, token.MaxPage)
	if err != nil || len(page) >= limit {
		return errors.Join(err, token.ErrTooMany)
	}
	return u.Ledger.Issue(ctx, r, verifying, 1000)
}

type revivingSessions struct {
	session.Store
	made sync.Map
}

func (v *revivingSessions) Create(ctx context.Context, s session.Session, limit int) error {
	v.made.Store(s.Hash, s)
	return v.Store.Create(ctx, s, limit)
}

func (v *revivingSessions) Touch(ctx context.Context, org auth.OrgKey, hash [32]byte, seen time.Time) error {
	err := v.Store.Touch(ctx, org, hash, seen)
	if s, ok := v.made.Load(hash); ok && errors.Is(err, auth.ErrNotFound) {
		v.Store.Create(ctx, s.(session.Session), 0)
		return v.Store.Touch(ctx, org, hash, seen)
	}
	return err
}

type laxFactors struct{ session.FactorStore }

func (l *laxFactors) Save(ctx context.Context, org auth.OrgKey, account string, f session.Factor) error {
	now, err := l.Factor(ctx, org, account)
	if err != nil {
		return err
	}
	f.Version = now.Version
	return l.FactorStore.Save(ctx, org, account, f)
}

// within is how many calls of its kind are enough to find a mistake: at least ten times as many as it takes
// on average, because who makes calls at the same time has luck or not.
var within = []struct {
	mistake, engine, kind string
	calls                 int
}{
	{"a refused claim leaves its nonce", "Redis", "claims", 3000},
	{"a claim asks before it records", "Redis", "claims", 3000},
	{"a claim is kept from its arrival on", "Redis", "claims", 2000},
	{"the epoch goes back", "Redis", "claims", 5000},
	{"a use is read and then written", "Redis", "tokens", 10000},
	{"a cascade of one level", "Redis", "tokens", 20000},
	{"a revocation is cached", "Redis", "tokens", 5000},
	{"a late answer counts as a refusal", "Redis", "tokens", 2000},
	{"a subject is revoked without a lock", "Redis", "tokens", 5000},
	{"a limit is checked before the lock", "Redis", "tokens", 5000},
	{"Touch makes an ended session again", "Redis", "sessions", 5000},
	{"an eviction takes the newest", "Redis", "sessions", 5000},
	{"a logout forgets the renewed session", "Redis", "sessions", 25000},
	{"reads go to a replica", "Redis", "attempts", 2000},
	{"a fence is not compared", "Redis", "idempotency", 3000},
	{"uses of API keys are not compared", "Redis", "keys", 3000},
	{"a version is not compared", "SQLite", "factors", 3000},
	{"a commit is two", "SQLite", "commits", 5000},
	{"a replaced key signs on", "SQLite", "rotations", 3000},
}

// TestHistoriesFindMistakes makes calls to stores with one mistake each, until it is found.
func TestHistoriesFindMistakes(t *testing.T) {
	for _, test := range within {
		t.Run(test.mistake, func(t *testing.T) {
			t.Parallel()
			i := historyInstance{Engine: test.engine, Pool: 8, Sabotage: test.mistake}
			var faults historyFaults
			if test.engine == "SQLite" {
				i.At = []string{filepath.Join(t.TempDir(), "store")}
			} else {
				s := startRedis(t)
				i.At = []string{s.addr()}
				switch test.mistake {
				case "reads go to a replica":
					slow := startProxy(t, s.addr())
					slow.set(false, 20*time.Millisecond)
					_, port, _ := strings.Cut(slow.addr(), ":")
					i.At = append(i.At, startRedis(t, "--replicaof", "127.0.0.1 "+port).addr())
				case "the epoch goes back":
					faults = wiping(t, s)
				}
			}
			calls := 0
			for seed := uint64(1); ; seed++ {
				d := newHistory(t, i, seed, test.kind)
				d.run(t, 500*time.Millisecond, faults)
				v := d.check()[test.kind]
				if v.violations > 0 {
					t.Logf("found after %d calls of %d", calls+v.found, test.calls)
					if calls+v.found > test.calls {
						t.Errorf("more than %d", test.calls)
					}
					return
				}
				if calls += v.calls; calls > test.calls {
					t.Fatalf("not found in %d calls: %v", calls, v.results)
				}
			}
		})
	}
}

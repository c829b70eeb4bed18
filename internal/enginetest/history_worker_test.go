package enginetest

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/redisstore"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/internal/history"
	"github.com/tenantkit/tenantkit/token"
)

// historyInstance says how a worker opens its stores. One instance of each driver has the same.
type historyInstance struct {
	Engine   string            // SQLite, PostgreSQL, PgBouncer, Redis, Sentinel, Cluster
	At       []string          // the file, the data source name or the addresses
	Through  map[string]string // proxies, by the address behind them
	Run      string
	Skew     time.Duration
	Pool     int
	Patient  bool // nothing goes wrong, so that a call that takes long has found no processor
	Unsafe   bool
	Sabotage string // see sabotages
}

// timeout is how long a call may take before its outcome is unknown.
func (i *historyInstance) timeout() time.Duration {
	if i.Patient {
		return patience
	}
	return 2 * time.Second
}

func (i *historyInstance) dialer(ctx context.Context, network, addr string) (net.Conn, error) {
	if through := i.Through[addr]; through != "" {
		addr = through
	}
	return (&net.Dialer{Timeout: time.Second}).DialContext(ctx, network, addr)
}

func (i *historyInstance) open(ctx context.Context) (*history.Stores, error) {
	var all *history.Stores
	var err error
	switch i.Engine {
	case "Redis":
		client := redis.NewClient(&redis.Options{Addr: i.At[0], Dialer: i.dialer, ContextTimeoutEnabled: true, MaxRetries: -1, PoolSize: i.Pool, ReadTimeout: -1, PoolTimeout: patience})
		all, err = i.openRedis(ctx, func(ctx context.Context, args ...any) (any, error) { return client.Do(ctx, args...).Result() })
	case "Sentinel":
		client := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "histories", SentinelAddrs: i.At, ContextTimeoutEnabled: true, MaxRetries: -1, PoolSize: i.Pool, ReadTimeout: -1, PoolTimeout: patience})
		all, err = i.openRedis(ctx, func(ctx context.Context, args ...any) (any, error) { return client.Do(ctx, args...).Result() })
	case "Cluster":
		client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: i.At, Dialer: i.dialer, ClusterStateReloadInterval: time.Second, ContextTimeoutEnabled: true, MaxRetries: -1, PoolSize: i.Pool, ReadTimeout: -1, PoolTimeout: patience})
		all, err = i.openRedis(ctx, func(ctx context.Context, args ...any) (any, error) {
			command := once{redis.NewCmd(ctx, args...)}
			client.Process(ctx, command)
			return command.Result()
		})
	default:
		all, err = i.openSQL(ctx)
	}
	if err != nil {
		return nil, err
	}
	all.Run, all.Skew = i.Run, i.Skew
	if spoil := sabotages[i.Sabotage]; spoil != nil {
		spoil(all)
	}
	return all, nil
}

// dialed is a client that ends with the process.
func dialed(addr string) redisstore.Do {
	client := redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true, MaxRetries: -1, ReadTimeout: -1, PoolTimeout: patience})
	return func(ctx context.Context, args ...any) (any, error) { return client.Do(ctx, args...).Result() }
}

func (i *historyInstance) openRedis(ctx context.Context, do redisstore.Do) (*history.Stores, error) {
	s, err := redisstore.Open(ctx, spoiledDo(i, do), redisstore.Options{UnsafeNoAppendOnly: i.Unsafe})
	if err != nil {
		return nil, err
	}
	return &history.Stores{Replays: s.Replays(), Ledger: s.Ledger(), Sessions: s.Sessions(), Attempts: s.Attempts(), Keys: s.APIKeys(), Idempotency: s.Idempotency()}, nil
}

func (i *historyInstance) openSQL(ctx context.Context) (*history.Stores, error) {
	driver, dialect, source := "pgx", sqlstore.PostgreSQL, i.At[0]
	if i.Engine == "SQLite" {
		driver, dialect = "sqlite", sqlstore.SQLite
		busy := 250 * time.Millisecond
		if i.Patient {
			busy = patience // the application's own transactions are not begun again
		}
		source = fmt.Sprintf("file:%s?_txlock=immediate&_pragma=busy_timeout(%d)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)", source, busy.Milliseconds())
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(i.Pool)
	db.SetMaxIdleConns(i.Pool)
	sealer, err := sqlstore.NewSealer(append(bytes.Repeat([]byte{7}, 31), 8))
	if err != nil {
		return nil, err
	}
	s, err := sqlstore.Open(ctx, db, dialect, sqlstore.Options{Sealer: sealer, UnsafeDurability: i.Unsafe})
	if err == nil {
		_, err = db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS application (id text PRIMARY KEY)")
	}
	if err != nil {
		return nil, err
	}
	keys, err1 := s.Keys()
	factors, err2 := s.Factors()
	entries, err3 := s.Idempotency()
	app := application{db, s}
	return &history.Stores{Replays: s.Replays(), Ledger: s.Ledger(), Sessions: s.Sessions(), Attempts: s.Attempts(), Keys: s.APIKeys(),
		Idempotency: entries, Factors: factors, Commit: app.commit, Row: app.row,
		Rotate: func(ctx context.Context, org auth.OrgKey, name string) (string, error) {
			public, err := keys.Generate(ctx, org, name)
			if err != nil {
				return "", err
			}
			return public.KeyID, nil
		},
		Signer: func(ctx context.Context, _ auth.OrgKey, name string) (string, error) {
			pair, err := keys.Signer(ctx, name)
			switch {
			case errors.Is(err, token.ErrNoKeyPair):
				return "", auth.ErrNotFound
			case err != nil:
				return "", err
			}
			return pair.KeyID, nil
		}}, errors.Join(err1, err2, err3)
}

// application has rows beside those of the stores.
type application struct {
	db    *sql.DB
	store *sqlstore.Store
}

func (a application) commit(ctx context.Context, r token.Record, row string, undo bool) error {
	tx, err := a.db.BeginTx(ctx, nil)
	if err != nil {
		return auth.Unavailable(err)
	}
	defer tx.Rollback()
	in, err := a.store.In(ctx, tx)
	if err != nil {
		return auth.Unavailable(err)
	}
	if err := in.Ledger().Issue(ctx, r, nil, 100); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO application VALUES ($1)", row); err != nil {
		return auth.Unavailable(err)
	}
	end := tx.Commit
	if undo {
		end = tx.Rollback
	}
	if err := end(); err != nil {
		return auth.Unavailable(err)
	}
	return nil
}

func (a application) row(ctx context.Context, row string) (there bool, err error) {
	if err := a.db.QueryRowContext(ctx, "SELECT count(*) = 1 FROM application WHERE id = $1", row).Scan(&there); err != nil {
		return false, auth.Unavailable(err)
	}
	return there, nil
}

// notDone is the result of a call that certainly had no effect. The callers of a store cannot know.
const notDone = "not done"

// neverDone reports whether nothing was sent, or a server refused the command as a whole.
func neverDone(err string) bool {
	return slices.ContainsFunc([]string{"connect: connection refused", ": TRYAGAIN ", ": CLUSTERDOWN ", ": LOADING ", ": MOVED ", ": ASK "},
		func(text string) bool { return strings.Contains(err, text) })
}

// asked is a call with its number, in both directions.
type asked struct {
	ID int64
	Op history.Op
}

// TestHistoryWorker is one process. It makes each call that it reads at once, and writes its result.
func TestHistoryWorker(t *testing.T) {
	text := os.Getenv("ENGINETEST_HISTORY")
	if text == "" {
		t.Skip("not a process of a history")
	}
	var i historyInstance
	if err := json.Unmarshal([]byte(text), &i); err != nil {
		t.Fatal(err)
	}
	var stores *history.Stores
	var err error
	if !until(func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		stores, err = i.open(ctx)
		var wrong *auth.SettingError
		return err == nil || errors.As(err, &wrong)
	}) || err != nil {
		t.Fatal(err)
	}
	in, results := json.NewDecoder(os.Stdin), json.NewEncoder(os.NewFile(3, "results"))
	results.Encode(asked{})
	var mu sync.Mutex
	for {
		var a asked
		if in.Decode(&a) != nil {
			return
		}
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), i.timeout())
			defer cancel()
			stores.Do(ctx, &a.Op)
			if a.Op.Result == history.Unknown && neverDone(a.Op.Error) {
				a.Op.Result = notDone
			}
			mu.Lock()
			defer mu.Unlock()
			results.Encode(a)
		}()
	}
}

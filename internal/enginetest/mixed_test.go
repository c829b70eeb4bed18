package enginetest

import (
	"context"
	"database/sql"
	"encoding/json"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/redisstore"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/signing"
)

// remove removes a person whose sessions and tokens are in Redis. It may be called again.
func remove(ctx context.Context, db *sql.DB, store *sqlstore.Store, fast revoker, org auth.OrgKey, person string) error {
	if err := fast.RevokeAccount(ctx, org, person); err != nil {
		return err
	}
	if err := removeInSQL(ctx, db, store, org, person); err != nil {
		return err
	}
	return fast.RevokeAccount(ctx, org, person)
}

type revoker interface {
	RevokeAccount(ctx context.Context, org auth.OrgKey, account string) error
}

func removeInSQL(ctx context.Context, db *sql.DB, store *sqlstore.Store, org auth.OrgKey, person string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, "DELETE FROM people WHERE id = $1", string(org)+" "+person); err != nil {
		return err
	}
	dies(1)
	in, err := store.In(ctx, tx)
	if err == nil {
		err = in.DeleteAccount(ctx, org, person)
	}
	if err != nil {
		return err
	}
	dies(2)
	return tx.Commit()
}

// mixed is the job of a process that dies on its way through remove.
type mixed struct {
	Source, Prefix, Redis string
	Org                   auth.OrgKey
	Death                 int
}

// dies ends the process if it is to die here.
func dies(at int) {
	var j mixed
	if json.Unmarshal([]byte(os.Getenv("ENGINETEST_MIXED")), &j) == nil && j.Death == at {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

// dyingRedis is a Redis around whose calls a process dies.
type dyingRedis struct {
	*redisstore.Store
	calls int
}

func (r *dyingRedis) RevokeAccount(ctx context.Context, org auth.OrgKey, account string) error {
	dies(10 + r.calls)
	err := r.Store.RevokeAccount(ctx, org, account)
	dies(20 + r.calls)
	r.calls++
	return err
}

// TestMixedProcess is the process of TestMixedStores.
func TestMixedProcess(t *testing.T) {
	text := os.Getenv("ENGINETEST_MIXED")
	if text == "" {
		t.Skip("not a process that dies")
	}
	var j mixed
	expect(t, "Unmarshal", json.Unmarshal([]byte(text), &j), nil)
	db := openDB(t, "pgx", j.Source)
	store := must(sqlstore.Open(t.Context(), db, sqlstore.PostgreSQL, sqlstore.Options{Prefix: j.Prefix, UnsafeUnsealed: true}))(t)
	redis := &dyingRedis{Store: openAt(t, j.Redis, redisstore.Options{})}
	expect(t, "remove", remove(t.Context(), db, store, redis, j.Org, "ann"), nil)
}

// TestMixedStores kills a process at each step. The person may have lost their sessions and is still
// there, but never the reverse. Another call completes what was begun.
func TestMixedStores(t *testing.T) {
	t.Parallel()
	h := newPostgresHome(t)
	h.unsealed = true
	db := h.open(t)
	store := h.storeIn(t, db)
	server := startRedis(t)
	fast := server.open(t)
	must(db.Exec("CREATE TABLE IF NOT EXISTS people (id TEXT PRIMARY KEY)"))(t)
	for i, death := range []int{10, 20, 1, 2, 11, 21, 0} {
		j := mixed{Source: durablePostgres(t), Prefix: prefixOf(h.prefix), Redis: server.addr(), Org: auth.OrgKey("m" + strconv.Itoa(i)), Death: death}
		must(db.Exec("INSERT INTO people (id) VALUES ($1)", string(j.Org)+" ann"))(t)
		s := annsSession(j.Org)
		expect(t, "Create", fast.Sessions().Create(t.Context(), s, 0), nil)
		_, secret := signing.Generate()
		credentials := must(store.Credentials())(t)
		expect(t, "Put", credentials.Put(t.Context(), j.Org, clientKeyOf(j.Org), secret, signature.Credential{Account: "ann"}), nil)
		left := func() (row, session, credential bool) {
			var n int
			expect(t, "count", db.QueryRow("SELECT count(*) FROM people WHERE id = $1", string(j.Org)+" ann").Scan(&n), nil)
			_, open := fast.Sessions().Get(t.Context(), j.Org, s.Hash)
			_, signs := credentials.Credential(t.Context(), clientKeyOf(j.Org))
			return n == 1, open == nil, signs == nil
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMixedProcess$")
		cmd.Env = append(os.Environ(), "ENGINETEST_MIXED="+string(must(json.Marshal(j))(t)))
		out, err := cmd.CombinedOutput()
		if (err == nil) != (death == 0) || err != nil && !strings.Contains(err.Error(), "killed") {
			t.Fatalf("%d: %v\n%s", death, err, out)
		}
		row, session, credential := left()
		if row != credential || session && !row {
			t.Errorf("death %d: row %v, credential %v, session %v", death, row, credential, session)
		}
		if want := death == 10 || death == 20 || death == 1 || death == 2; row != want {
			t.Errorf("death %d: row %v", death, row)
		}
		expect(t, "again", remove(t.Context(), db, store, fast, j.Org, "ann"), nil)
		if row, session, credential := left(); row || session || credential {
			t.Errorf("death %d, again: row %v, credential %v, session %v", death, row, credential, session)
		}
	}
}

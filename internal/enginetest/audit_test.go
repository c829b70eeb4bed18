package enginetest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/apikey"
	"github.com/tenantkit/tenantkit/auth/audit"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// eachAudited runs a test with a store that keeps a log, in each engine.
func eachAudited(t *testing.T, test func(t *testing.T, e *embedded)) {
	t.Parallel()
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			h.audited = true
			test(t, newEmbedded(t, h))
		})
	}
}

// verbsOf returns the verbs in the log of an org, the first ones first.
func (e *embedded) verbsOf(t testing.TB, org auth.OrgKey) (verbs []string) {
	t.Helper()
	for _, entry := range slices.Backward(must(e.Audit().List(t.Context(), org, 0, 1000))(t)) {
		verbs = append(verbs, entry.Verb)
	}
	return verbs
}

func (e *embedded) expectChain(t testing.TB, org auth.OrgKey, checkpoint audit.Head, n int64) {
	t.Helper()
	err := e.Audit().Verify(t.Context(), org, checkpoint)
	broken, ok := errors.AsType[*audit.Broken](err)
	if (err == nil) != (n == 0) || n != 0 && (!ok || broken.N != n && n > 0) {
		t.Errorf("%v, want row %d", err, n)
	}
}

// noEntry says why a method leaves no entry in the log. It reads, or another method of the table has it.
const (
	reads   = "it changes nothing"
	notKept = "the log is not about it"
	settled = "it returns what has the verbs"
)

// TestEachVerbHasAnEntry knows each method of a Store: a new one needs a line here. Each verb that changes
// something leaves one entry, and none when it changes nothing.
func TestEachVerbHasAnEntry(t *testing.T) {
	ctx := context.Background()
	_, secret := signing.Generate()
	credential := signature.Credential{Account: "ann"}
	pair := must(token.GeneratePair(2048))(t)
	org := auth.OrgKey("acme")
	ck := clientKeyOf(org)
	pair.ClientKey, pair.Org = ck, org // here, because the engines are tested beside each other
	limited := recordOf(org, "limited")
	limited.MaxUses = 2
	factor := session.Factor{Secret: session.FactorSecret(make([]byte, 20)), Recovery: [][32]byte{{1}, {2}}}
	type step = func(*embedded) error
	creds := func(f func(*sqlstore.Credentials) error) step {
		return func(e *embedded) error {
			c, err := e.Credentials()
			if err != nil {
				return err
			}
			return f(c)
		}
	}
	keys := func(f func(*sqlstore.Keys) error) step {
		return func(e *embedded) error {
			k, err := e.Keys()
			if err != nil {
				return err
			}
			return f(k)
		}
	}
	save := func(version int64, f session.Factor) step {
		return func(e *embedded) error {
			s, err := e.Factors()
			if err != nil {
				return err
			}
			f := f // the engines are tested beside each other
			f.Version = version
			return s.Save(ctx, org, "ann", f)
		}
	}
	open := func(e *embedded) error { return e.Sessions().Create(ctx, annsSession(org), 0) }
	issue := func(e *embedded) error { return e.Ledger().Issue(ctx, recordOf(org, "one"), nil, 10) }
	put := creds(func(c *sqlstore.Credentials) error { return c.Put(ctx, org, ck, secret, credential) })
	ensure := keys(func(k *sqlstore.Keys) error { _, err := k.Ensure(ctx, org, ck); return err })
	addKey := func(e *embedded) error { return e.APIKeys().Add(ctx, apiKeyOf(org, "ann"), 10) }
	inTx := func(f func(*sqlstore.In) error) step {
		return func(e *embedded) error {
			tx, err := e.db.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			defer tx.Rollback()
			in, err := e.In(ctx, tx)
			if err == nil {
				err = f(in)
			}
			if err != nil {
				return err
			}
			return tx.Commit()
		}
	}
	hash := annsSession(org).Hash
	device, invite := annsSession(org), annsSession(org)
	device.Ticket, invite.Ticket = "device", "invite"
	acting, entered := annsSession(org), annsSession(org)
	acting.Origin, entered.Origin = `{"o":"acme","a":"ada","s":"1","x":true}`, `{"o":"globex","a":"ann","s":"1"}`
	create := func(n session.Session) step {
		return func(e *embedded) error { return e.Sessions().Create(ctx, n, 0) }
	}
	none := func(*embedded) error { return nil }
	table := []struct {
		method string // of a type; a method may have several lines
		before []step
		verb   step
		want   string // verbs that it leaves
		again  string // what it leaves the second time; "": none, for most nothing is left to change
	}{
		{"session.Store.Create", nil, open, "session.opened", "*"},
		{"session.Store.Create", nil, create(acting), "acting.began", "*"},
		{"session.Store.Create", nil, create(entered), "session.entered", "*"},
		{"session.Store.Create", nil, create(device), "device.remembered", "*"},
		{"session.Store.Create", nil, create(invite), "invitation.made", "*"},
		{"session.Store.Create", []step{open}, func(e *embedded) error {
			n := sessionOf("second")
			n.Org = org
			return e.Sessions().Create(ctx, n, 1)
		}, "session.ended session.opened", "*"},
		{"session.Store.Replace", []step{open}, func(e *embedded) error {
			n := annsSession(org)
			n.Hash[0]++
			return e.Sessions().Replace(ctx, org, hash, n)
		}, "session.renewed", ""},
		{"session.Store.Delete", []step{open}, func(e *embedded) error { return e.Sessions().Delete(ctx, org, hash) }, "session.ended", ""},
		{"session.Store.Delete", []step{create(device)}, func(e *embedded) error { return e.Sessions().Delete(ctx, org, hash) }, "device.forgotten", ""},
		{"session.Store.DeleteID", []step{open}, func(e *embedded) error { return e.Sessions().DeleteID(ctx, org, "ann", annsSession(org).ID) }, "session.ended", ""},
		{"session.Store.DeleteID", []step{create(invite)}, func(e *embedded) error { return e.Sessions().DeleteID(ctx, org, "ann", invite.ID) }, "invitation.ended", ""},
		{"session.Store.DeleteAll", []step{open}, func(e *embedded) error { _, err := e.Sessions().DeleteAll(ctx, org, "ann", ""); return err }, "session.ended", ""},
		{"session.Store.DeleteOrg", []step{open}, func(e *embedded) error { _, err := e.Sessions().DeleteOrg(ctx, org); return err }, "session.ended", ""},
		{"token.Ledger.Issue", nil, issue, "token.made", "*"},
		{"token.Ledger.Renew", []step{issue}, func(e *embedded) error {
			next := recordOf(org, "one")
			return e.Ledger().Renew(ctx, recordOf(org, "one"), next, 0)
		}, "token.renewed", "token.reused"},
		{"token.Ledger.Spend", []step{func(e *embedded) error { return e.Ledger().Issue(ctx, limited, nil, 10) }, func(e *embedded) error { return spend(ctx, e.Ledger(), limited) }},
			func(e *embedded) error { return spend(ctx, e.Ledger(), limited) }, "token.spent", ""},
		{"token.Ledger.Spend", []step{func(e *embedded) error { return e.Ledger().Issue(ctx, limited, nil, 10) }},
			func(e *embedded) error { return spend(ctx, e.Ledger(), limited) }, "", "token.spent"},
		{"token.Ledger.Revoke", []step{issue}, func(e *embedded) error { return e.Ledger().Revoke(ctx, recordOf(org, "one").Holder(), "one") }, "token.revoked", ""},
		{"token.Ledger.RevokeSubject", []step{issue}, func(e *embedded) error {
			_, err := e.Ledger().RevokeSubject(ctx, token.Holder{Org: org, ClientKey: token.Any, Subject: "ann"})
			return err
		}, "token.revoked", ""},
		{"apikey.Store.Add", nil, addKey, "apikey.made", "*"},
		{"apikey.Store.Swap", []step{addKey}, func(e *embedded) error {
			after := apiKeyOf(org, "ann")
			after.Disabled = true
			return e.APIKeys().Swap(ctx, apiKeyOf(org, "ann"), after, nil, 10)
		}, "apikey.restricted", ""},
		{"apikey.Store.Swap", []step{addKey}, func(e *embedded) error {
			after, next := apiKeyOf(org, "ann"), apiKeyOf(org, "ann")
			next.ID, next.Hash = "second", [32]byte{2}
			after.Successor = next.ID
			return e.APIKeys().Swap(ctx, apiKeyOf(org, "ann"), after, &next, 10)
		}, "apikey.replaced", ""},
		{"apikey.Store.Revoke", []step{addKey}, func(e *embedded) error { return e.APIKeys().Revoke(ctx, org, apiKeyOf(org, "ann").ID) }, "apikey.ended", ""},
		{"session.FactorStore.Save", nil, save(0, factor), "factor.enrolled", ""},
		{"session.FactorStore.Save", nil, save(0, session.Factor{Pending: factor.Secret}), "", ""},
		{"session.FactorStore.Save", []step{save(0, factor)}, save(1, session.Factor{Secret: factor.Secret, Recovery: factor.Recovery, Step: 7}), "code.accepted", ""},
		{"session.FactorStore.Save", []step{save(0, factor)}, save(1, session.Factor{Secret: factor.Secret, Recovery: factor.Recovery[1:]}), "recovery.used", ""},
		{"session.FactorStore.Save", []step{save(0, factor)}, save(1, session.Factor{Secret: factor.Secret, Recovery: [][32]byte{{9}}}), "factor.enrolled", ""},
		{"session.FactorStore.Save", []step{save(0, factor)}, save(1, session.Factor{}), "factor.removed", ""},
		{"*sqlstore.Credentials.Create", nil, creds(func(c *sqlstore.Credentials) error { _, _, err := c.Create(ctx, org, credential); return err }), "credential.made", "credential.made"},
		{"*sqlstore.Credentials.Put", nil, put, "credential.made", "credential.made"},
		{"*sqlstore.Credentials.PutPublicKey", nil, creds(func(c *sqlstore.Credentials) error {
			return c.PutPublicKey(ctx, org, ck, credential, publicKey(t))
		}), "credential.made", "credential.made"},
		{"*sqlstore.Credentials.Rotate", []step{put}, creds(func(c *sqlstore.Credentials) error { _, err := c.Rotate(ctx, org, ck, time.Hour); return err }), "credential.replaced", "credential.replaced"},
		{"*sqlstore.Credentials.Restrict", []step{put}, creds(func(c *sqlstore.Credentials) error {
			return c.Restrict(ctx, org, ck, func(c *signature.Credential) error { c.Account = "ben"; return nil })
		}), "credential.restricted", "credential.restricted"},
		{"*sqlstore.Credentials.Delete", []step{put}, creds(func(c *sqlstore.Credentials) error { return c.Delete(ctx, org, ck) }), "credential.ended", ""},
		{"*sqlstore.Keys.Generate", nil, keys(func(k *sqlstore.Keys) error { _, err := k.Generate(ctx, org, ck); return err }), "keypair.made", "keypair.made"},
		{"*sqlstore.Keys.Ensure", nil, ensure, "keypair.made", ""},
		{"*sqlstore.Keys.Put", nil, keys(func(k *sqlstore.Keys) error { return k.Put(ctx, pair) }), "keypair.made", "keypair.made"},
		{"*sqlstore.Keys.Rotate", []step{ensure}, keys(func(k *sqlstore.Keys) error { _, err := k.Rotate(ctx, org, ck, time.Minute); return err }), "keypair.rotated", "keypair.rotated"},
		{"*sqlstore.Keys.Expose", []step{ensure}, keys(func(k *sqlstore.Keys) error { return k.Expose(ctx, org, ck, true) }), "keypair.exposed", "keypair.exposed"},
		{"*sqlstore.Keys.Delete", []step{ensure}, keys(func(k *sqlstore.Keys) error { return k.Delete(ctx, org, ck) }), "keypair.deleted", ""},
		{"*sqlstore.Store.RevokeAccount", []step{open, issue, put}, func(e *embedded) error { return e.RevokeAccount(ctx, org, "ann") }, "account.revoked", ""},
		{"*sqlstore.Store.DeleteAccount", []step{open, issue, put}, func(e *embedded) error { return e.DeleteAccount(ctx, org, "ann") }, "account.deleted", ""},
		{"*sqlstore.Store.DeleteOrg", []step{open, issue, put}, func(e *embedded) error { return e.DeleteOrg(ctx, org) }, "org.deleted audit.sealed", ""},
		{"*sqlstore.In.RemoveFactor", []step{save(0, factor)}, inTx(func(in *sqlstore.In) error { return in.RemoveFactor(ctx, org, "ann") }), "factor.removed", "factor.removed"},
		{"*sqlstore.In.RevokeAccount", []step{open}, inTx(func(in *sqlstore.In) error { return in.RevokeAccount(ctx, org, "ann") }), "account.revoked", ""},
		{"*sqlstore.In.DeleteAccount", []step{open}, inTx(func(in *sqlstore.In) error { return in.DeleteAccount(ctx, org, "ann") }), "account.deleted", ""},
		{"*sqlstore.In.DeleteOrg", []step{open}, inTx(func(in *sqlstore.In) error { return in.DeleteOrg(ctx, org) }), "org.deleted audit.sealed", ""},
		{"*sqlstore.Audit.Append", nil, func(e *embedded) error {
			return e.Audit().Append(ctx, auth.Event{Org: org, Verb: "password.changed", Account: "ann"}, "ann@acme.example")
		}, "password.changed", "password.changed"},
		{"*sqlstore.Audit.Erase", []step{func(e *embedded) error {
			return e.Audit().Append(ctx, auth.Event{Org: org, Verb: "password.changed", Account: "ann"}, "ann@acme.example")
		}}, func(e *embedded) error { _, err := e.Audit().Erase(ctx, org, "ann"); return err }, "audit.erased", ""},
		{"*sqlstore.Audit.Seal", []step{open, issue, put}, func(e *embedded) error { return e.Audit().Seal(ctx, org, 3) }, "audit.sealed", ""},
		{"*sqlstore.Audit.Observe", nil, none, "", ""}, // TestRefusalsAreCounted
	}
	others := map[string]string{
		"session.Store.Get": reads, "session.Store.Touch": notKept, "session.Store.List": reads,
		"token.Ledger.Get": reads, "token.Ledger.List": reads,
		"apikey.Store.Get": reads, "apikey.Store.Use": notKept, "apikey.Store.List": reads,
		"session.FactorStore.Factor":       reads,
		"*sqlstore.Credentials.Credential": reads,
		"*sqlstore.Credentials.List":       reads,
		"*sqlstore.Keys.Public":            reads,
		"*sqlstore.Keys.Signer":            reads,
		"*sqlstore.Keys.Exposed":           reads,
		"*sqlstore.Keys.PutReference":      "it is Keys.Put with another signer",
		"*sqlstore.Keys.RotateToReference": "it is Keys.Rotate with another signer",
		"*sqlstore.Store.APIKeys":          settled,
		"*sqlstore.Store.Attempts":         notKept,
		"*sqlstore.Store.Audit":            settled,
		"*sqlstore.Store.Credentials":      settled,
		"*sqlstore.Store.ExportAccount":    reads,
		"*sqlstore.Store.Factors":          settled,
		"*sqlstore.Store.Idempotency":      notKept,
		"*sqlstore.Store.In":               settled,
		"*sqlstore.Store.Keys":             settled,
		"*sqlstore.Store.Ledger":           settled,
		"*sqlstore.Store.Replays":          notKept,
		"*sqlstore.Store.Reseal":           notKept,
		"*sqlstore.Store.Run":              notKept,
		"*sqlstore.Store.Sessions":         settled,
		"*sqlstore.Store.Sweep":            notKept,
		"*sqlstore.In.APIKeys":             settled,
		"*sqlstore.In.Audit":               settled,
		"*sqlstore.In.Credentials":         settled,
		"*sqlstore.In.Keys":                settled,
		"*sqlstore.In.Ledger":              settled,
		"*sqlstore.In.Sessions":            settled,
		"*sqlstore.Audit.Head":             reads,
		"*sqlstore.Credentials.See":        settled,
		"*sqlstore.Store.Stats":            reads,
		"*sqlstore.Audit.Heads":            reads,
		"*sqlstore.Audit.List":             reads,
		"*sqlstore.Audit.Verify":           reads,
		"*sqlstore.Audit.View":             reads,
	}
	known := map[string]bool{}
	for _, line := range table {
		known[line.method] = true
	}
	for _, of := range []reflect.Type{reflect.TypeFor[session.Store](), reflect.TypeFor[token.Ledger](), reflect.TypeFor[apikey.Store](), reflect.TypeFor[session.FactorStore](),
		reflect.TypeFor[*sqlstore.Credentials](), reflect.TypeFor[*sqlstore.Keys](), reflect.TypeFor[*sqlstore.Store](), reflect.TypeFor[*sqlstore.In](), reflect.TypeFor[*sqlstore.Audit]()} {
		for i := range of.NumMethod() {
			name := of.String() + "." + of.Method(i).Name
			if !known[name] && others[name] == "" {
				t.Errorf("%s: does it leave an entry in the log?", name)
			}
			if known[name] && others[name] != "" {
				t.Errorf("%s is in both tables", name)
			}
			delete(others, name)
		}
	}
	for name := range others {
		t.Errorf("%s is no method", name)
	}
	eachAudited(t, func(t *testing.T, e *embedded) {
		for _, line := range table {
			for _, before := range line.before {
				if err := before(e); err != nil {
					t.Fatalf("%s: before: %v", line.method, err)
				}
			}
			old := len(e.verbsOf(t, org))
			check := func(want string) {
				t.Helper()
				e.expectChain(t, org, audit.Head{}, 0)
				got := e.verbsOf(t, org)
				if strings.Contains(want, "audit.sealed") {
					old = len(got) - len(strings.Fields(want)) // what was before is not there
					if line.method == "*sqlstore.Audit.Seal" {
						old = len(got) - 1
					}
				}
				if diff := strings.Join(got[min(old, len(got)):], " "); diff != want {
					t.Errorf("%s: %q, want %q", line.method, diff, want)
				}
				old = len(got)
			}
			if err := line.verb(e); err != nil {
				t.Errorf("%s: %v", line.method, err)
			}
			check(line.want)
			if line.again != "*" {
				_ = line.verb(e) // mostly ErrNotFound
				check(line.again)
			}
			for _, table := range []string{"ledger", "keys", "former_keys", "credentials", "formers", "sessions", "factors", "api_keys", "audit", "audit_heads", "audit_personal"} {
				run(t, e.db, "DELETE FROM "+e.prefix+table)
			}
		}
	})
}

// TestEachColumnOfTheLog changes each column of each table, and cuts, moves and forks.
func TestEachColumnOfTheLog(t *testing.T) {
	eachAudited(t, func(t *testing.T, e *embedded) {
		e.request(t, func(ctx context.Context) {
			for i := range 6 {
				r := recordOf("acme", fmt.Sprint("t", i))
				if err := e.Ledger().Issue(ctx, r, nil, 10); err != nil {
					t.Error(err)
				}
			}
		})
		head := must(e.Audit().Head(t.Context(), "acme"))(t)
		e.expectChain(t, "acme", head, 0)
		for _, table := range []string{"audit", "audit_personal", "audit_heads"} {
			rows := must(e.db.Query("SELECT * FROM " + e.prefix + table + " WHERE 1 = 0"))(t)
			columns := must(rows.ColumnTypes())(t)
			rows.Close()
			where := " WHERE org = 'acme' AND n = 3"
			if table == "audit_heads" {
				where = " WHERE org = 'acme'"
			}
			for _, c := range columns {
				name := c.Name()
				changed, row := name+" || 'x'", int64(3)
				if is := strings.ToUpper(c.DatabaseTypeName()); is == "INTEGER" || is == "INT8" {
					changed = name + " + 100"
				}
				switch {
				case table == "audit_heads":
					row = -1 // the end, or a row that is not there
				case table == "audit_personal" && (name == "org" || name == "n"):
					row = 0 // the row is of nobody: as if it was erased
				}
				run(t, e.db, "CREATE TABLE "+e.prefix+"kept AS SELECT * FROM "+e.prefix+table)
				run(t, e.db, "UPDATE "+e.prefix+table+" SET "+name+" = "+changed+where)
				t.Run(table+"."+name, func(t *testing.T) { e.expectChain(t, "acme", head, row) })
				run(t, e.db, "DELETE FROM "+e.prefix+table)
				run(t, e.db, "INSERT INTO "+e.prefix+table+" SELECT * FROM "+e.prefix+"kept")
				run(t, e.db, "DROP TABLE "+e.prefix+"kept")
			}
		}
		e.expectChain(t, "acme", head, 0)
		erased := must(e.Audit().Erase(t.Context(), "acme", "ann"))(t)
		if erased != 6 {
			t.Errorf("%d erased", erased)
		}
		for _, entry := range must(e.Audit().List(t.Context(), "acme", 7, 10))(t) {
			if entry.Address.IsValid() || entry.Agent+entry.Salt != "" || entry.Commitment == "" {
				t.Errorf("%+v", entry)
			}
		}
		e.expectChain(t, "acme", head, 0)
		if err := e.Audit().Seal(t.Context(), "acme", 5); err != nil {
			t.Error(err)
		}
		e.expectChain(t, "acme", head, 0)
		if first := must(e.Audit().List(t.Context(), "acme", 6, 10))(t); len(first) != 1 || first[0].N != 5 {
			t.Errorf("%+v", first)
		}
		run(t, e.db, "DELETE FROM "+e.prefix+"audit WHERE n = 5")
		e.expectChain(t, "acme", head, 5)
	})
}

// request runs f in a request to a Guard, which says who asks.
func (e *embedded) request(t *testing.T, f func(context.Context)) {
	t.Helper()
	directory := &auth.Memory{}
	directory.PutOrg(auth.Org{Code: "acme"})
	guard := &auth.Guard{Directory: directory, BaseURL: "https://service.example", Roles: auth.RolesDoNotLimit, Observe: e.Audit().Observe, Timeout: patience,
		Mechanisms: []auth.Mechanism{&signature.Mechanism{Credentials: must(e.Credentials())(t), Replays: e.Replays()}},
		RequestID:  func(*http.Request) string { return "request-1" }}
	mux := guard.Mux()
	mux.HandleFunc("GET /x", auth.Public, func(w http.ResponseWriter, r *http.Request) { f(r.Context()) })
	mux.HandleFunc("GET /closed", auth.Authenticated, func(http.ResponseWriter, *http.Request) {})
	r := httptest.NewRequest(http.MethodGet, "https://service.example/acme/v2/x", nil)
	r.RemoteAddr = "192.0.2.77:1234"
	r.Header.Set("User-Agent", "agent\x01\xff"+strings.Repeat("long", 1000))
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
}

// TestSixteenWritersDoNotFork writes to one chain from several instances, beside another org.
func TestSixteenWritersDoNotFork(t *testing.T) {
	eachAudited(t, func(t *testing.T, e *embedded) {
		var wg sync.WaitGroup
		second := e.home.store(t)
		for w := range 16 {
			store := []*sqlstore.Store{e.Store, second}[w%2]
			wg.Go(func() {
				for i := range 20 {
					r := recordOf("acme", fmt.Sprint(w, " ", i))
					r.Subject = fmt.Sprint("subject ", w)
					if err := store.Ledger().Issue(t.Context(), r, nil, 1000); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		expect(t, "another org", e.Ledger().Issue(t.Context(), recordOf("globex", "one"), nil, 10), nil)
		wg.Wait()
		head := must(e.Audit().Head(t.Context(), "acme"))(t)
		if head.Count != 320 {
			t.Errorf("%d rows", head.Count)
		}
		e.expectChain(t, "acme", head, 0)
		e.expectChain(t, "globex", audit.Head{}, 0)
	})
}

// TestARollbackLeavesNeither rolls transactions with a row of the application, verbs and entries back.
func TestARollbackLeavesNeither(t *testing.T) {
	eachAudited(t, func(t *testing.T, e *embedded) {
		for _, commit := range []bool{false, true} {
			tx := e.begin(t)
			in := must(e.In(t.Context(), tx))(t)
			e.put(t, tx, "row")
			expect(t, "Issue", in.Ledger().Issue(t.Context(), recordOf("acme", "one"), nil, 10), nil)
			expect(t, "Append", in.Audit().Append(t.Context(), auth.Event{Org: "acme", Verb: "account.made"}, ""), nil)
			expect(t, "Add", in.APIKeys().Add(t.Context(), apiKeyOf("acme", "ann"), 10), nil)
			end := tx.Rollback
			if commit {
				end = tx.Commit
			}
			expect(t, "end", end(), nil)
			want := 0
			if commit {
				want = 3
			}
			if got := e.verbsOf(t, "acme"); len(got) != want || e.has(t, "row") != commit || (spend(t.Context(), e.Ledger(), recordOf("acme", "one")) == nil) != commit {
				t.Errorf("commit %v: %q", commit, got)
			}
			e.expectChain(t, "acme", audit.Head{}, 0)
		}
		for _, wrong := range []auth.Event{{Org: "acme", Verb: "audit.sealed"}, {Org: "acme", Verb: "x"}, {Verb: "account.made"}, {Org: "acme"}} {
			if e.Audit().Append(t.Context(), wrong, "") == nil {
				t.Errorf("%+v was appended", wrong)
			}
		}
	})
}

// TestAVerbWithoutItsEntryIsRefused has the log fail: nothing is done.
func TestAVerbWithoutItsEntryIsRefused(t *testing.T) {
	eachAudited(t, func(t *testing.T, e *embedded) {
		expect(t, "Issue", e.Ledger().Issue(t.Context(), recordOf("acme", "one"), nil, 10), nil)
		run(t, e.db, "ALTER TABLE "+e.prefix+"audit RENAME TO "+e.prefix+"audit_away")
		if err := e.Ledger().Issue(t.Context(), recordOf("acme", "two"), nil, 10); !errors.Is(err, auth.ErrUnavailable) {
			t.Error(err)
		}
		if err := e.Ledger().Revoke(t.Context(), recordOf("acme", "one").Holder(), "one"); !errors.Is(err, auth.ErrUnavailable) {
			t.Error(err)
		}
		run(t, e.db, "ALTER TABLE "+e.prefix+"audit_away RENAME TO "+e.prefix+"audit")
		expect(t, "Spend", spend(t.Context(), e.Ledger(), recordOf("acme", "one")), nil)
		expect(t, "Spend", spend(t.Context(), e.Ledger(), recordOf("acme", "two")), token.ErrRevoked)
		e.expectChain(t, "acme", audit.Head{}, 0)
	})
}

// TestClocksSetBack appends entries whose times go back. Their order is their number.
func TestClocksSetBackDoNotMatterToTheLog(t *testing.T) {
	eachAudited(t, func(t *testing.T, e *embedded) {
		for i := range 3 {
			expect(t, "Append", e.Audit().Append(t.Context(), auth.Event{Org: "acme", Verb: "account.made", Time: time.Now().Add(time.Duration(-i) * time.Hour)}, ""), nil)
		}
		e.expectChain(t, "acme", must(e.Audit().Head(t.Context(), "acme"))(t), 0)
		if l := must(e.Audit().List(t.Context(), "acme", 0, 10))(t); l[0].N != 3 || !l[0].Time.Before(l[1].Time) {
			t.Errorf("%+v", l)
		}
	})
}

// TestRefusalsAreCounted has more kinds of rejected requests than an org has room for.
func TestRefusalsAreCounted(t *testing.T) {
	eachAudited(t, func(t *testing.T, e *embedded) {
		observe := e.Audit().Observe
		for i := range 1000 {
			address := netip.AddrFrom4([4]byte{10, 0, byte(i / 100), byte(i)})
			observe(t.Context(), auth.Event{Org: "acme", Detail: auth.DetailNoCredentials, Address: address})
			observe(t.Context(), auth.Event{Org: "acme", Verb: "login.wrong", Account: "ann", Address: address})
			observe(t.Context(), auth.Event{Org: "globex", Detail: auth.DetailNoCredentials, Address: netip.AddrFrom4([4]byte{byte(i), byte(i / 256), 1, 1})})
		}
		observe(t.Context(), auth.Event{Org: "acme", Verb: "token.made"})                                    // has an entry of its own
		observe(t.Context(), auth.Event{Org: "acme", Allowed: true})                                         // was not refused
		observe(t.Context(), auth.Event{Detail: auth.DetailNoCredentials})                                   // of no org
		observe(t.Context(), auth.Event{Org: "acme", Detail: auth.DetailBody, Allowed: true, Handler: true}) // was admitted
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		e.Run(ctx, func(err error) { t.Error(err) })
		count := func(org auth.OrgKey) (rows int, all int64) {
			for _, entry := range must(e.Audit().List(t.Context(), org, 0, 1000))(t) {
				rows++
				all += entry.Count
			}
			return rows, all
		}
		if rows, all := count("acme"); rows != 20 || all != 2000 {
			t.Errorf("%d rows of %d", rows, all)
		}
		if rows, all := count("globex"); rows != 64 || all != 1000 {
			t.Errorf("%d rows of %d", rows, all)
		}
		e.expectChain(t, "acme", audit.Head{}, 0)
		if first := must(e.Audit().List(t.Context(), "acme", 2, 1))(t)[0]; first.Address.As4()[3] != 0 {
			t.Errorf("%+v", first)
		}
	})
}

// TestKilledBetweenVerbAndEntry kills processes that issue tokens. Each token has its entry, and each entry
// its token.
func TestKilledBetweenVerbAndEntry(t *testing.T) {
	eachAudited(t, func(t *testing.T, e *embedded) {
		d := dying{Dialect: e.dialect, Prefix: prefixOf(e.prefix), Driver: "pgx", Source: durableSource(t, e)}
		if e.dialect == sqlstore.SQLite {
			d.Driver = "sqlite"
		}
		for round := range 12 {
			d.Round = round
			cmd := exec.Command(os.Args[0], "-test.run=^TestIssuingProcess$")
			cmd.Env = append(os.Environ(), "ENGINETEST_ISSUING="+string(must(json.Marshal(d))(t)))
			expect(t, "start", cmd.Start(), nil)
			began := len(e.verbsOf(t, "acme"))
			for deadline := time.Now().Add(20 * time.Second); len(e.verbsOf(t, "acme")) < began+3 && time.Now().Before(deadline); {
				time.Sleep(time.Millisecond)
			}
			time.Sleep(time.Duration(round*713) * time.Microsecond)
			cmd.Process.Kill()
			_ = cmd.Wait()
		}
		ids := make(map[string][]string)
		// One statement, because the engine may still commit what the last process has sent.
		rows := must(e.db.Query("SELECT 'token', id FROM " + e.prefix + "ledger UNION ALL SELECT 'entry', token FROM " + e.prefix + "audit ORDER BY 2"))(t)
		defer rows.Close()
		for rows.Next() {
			var of, id string
			expect(t, "Scan", rows.Scan(&of, &id), nil)
			ids[of] = append(ids[of], id)
		}
		tokens, entries := ids["token"], ids["entry"]
		if !slices.Equal(tokens, entries) || len(tokens) < 36 {
			t.Errorf("%d tokens, %d entries", len(tokens), len(entries))
		}
		e.expectChain(t, "acme", audit.Head{}, 0)
	})
}

func durableSource(t *testing.T, e *embedded) string {
	if e.dialect == sqlstore.SQLite {
		return fileOf(t, e.db) + "?_txlock=immediate&_pragma=busy_timeout(2000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"
	}
	return durablePostgres(t)
}

// TestIssuingProcess issues tokens until it is killed.
func TestIssuingProcess(t *testing.T) {
	var d dying
	if json.Unmarshal([]byte(os.Getenv("ENGINETEST_ISSUING")), &d) != nil {
		t.Skip("for TestKilledBetweenVerbAndEntry")
	}
	db := must(sql.Open(d.Driver, d.Source))(t)
	s := must(sqlstore.Open(t.Context(), db, d.Dialect, sqlstore.Options{Prefix: d.Prefix, Audit: true}))(t)
	for i := range 10_000 {
		r := recordOf("acme", fmt.Sprint(d.Round, " ", i))
		r.Subject = rand.Text()
		if err := s.Ledger().Issue(t.Context(), r, nil, 10); err != nil {
			t.Fatal(err)
		}
	}
}

// TestABusyOrgDoesNotDelayOthers has one org write as fast as it can, and another one a verb at a time.
func TestABusyOrgDoesNotDelayOthers(t *testing.T) {
	eachAudited(t, func(t *testing.T, e *embedded) {
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				for i := 0; ctx.Err() == nil; i++ {
					r := recordOf("busy", fmt.Sprint(w, " ", i))
					r.Subject = rand.Text()
					if err := e.Ledger().Issue(ctx, r, nil, 10); err != nil && ctx.Err() == nil {
						t.Error(err)
						return
					}
				}
			})
		}
		began, slowest := time.Now(), time.Duration(0)
		for i := range 20 {
			start := time.Now()
			expect(t, "Issue", e.Ledger().Issue(t.Context(), recordOf("quiet", fmt.Sprint(i)), nil, 100), nil)
			slowest = max(slowest, time.Since(start))
			time.Sleep(20 * time.Millisecond)
		}
		took := time.Since(began)
		cancel()
		wg.Wait()
		n := must(e.Audit().Head(t.Context(), "busy"))(t).Count
		t.Logf("%.0f verbs/s of the busy org, at most %v for one of the other", float64(n)/took.Seconds(), slowest)
		e.expectChain(t, "busy", audit.Head{}, 0)
		e.expectChain(t, "quiet", audit.Head{}, 0)
	})
}

// TestAMillionEntries verifies a long chain: 20,000 entries, or with LONG=1 a million.
func TestAMillionEntries(t *testing.T) {
	n := 20_000
	if os.Getenv("LONG") == "1" {
		n = 1_000_000
	}
	eachAudited(t, func(t *testing.T, e *embedded) {
		head := audit.Head{Org: "acme"}
		tx := must(e.db.Begin())(t)
		defer tx.Rollback()
		const columns = "org, n, time, hash, verb, actor, account, app, credential, token, session, by_what, reason, counted, detail, route, request, commitment"
		for i := 0; i < n; {
			var rows, personal []string
			for range 500 {
				entry := audit.Entry{Event: auth.Event{Verb: "token.made", Account: "ann", Actor: "ada", App: clientKeyOf("acme"), Token: fmt.Sprint(i), Time: time.Now(),
					By: "session:0123456789abcdef", Route: "POST /apps/{key}/tokens", Request: "0123456789abcdef0123", Agent: "Mozilla/5.0", Address: netip.MustParseAddr("192.0.2.1")}}
				head = head.Append(&entry)
				rows = append(rows, fmt.Sprintf("('acme', %d, %d, '%s', '%s', '%s', '%s', '%s', '', '%s', '', '%s', '', 0, '', '%s', '%s', '%s')", entry.N, entry.Time.UnixMilli(), entry.Hash,
					entry.Verb, entry.Actor, entry.Account, entry.App, entry.Token, entry.By, entry.Route, entry.Request, entry.Commitment))
				personal = append(personal, fmt.Sprintf("('acme', %d, '192.0.2.1', '%s', '', '%s')", entry.N, entry.Agent, entry.Salt))
				i++
			}
			runIn(t, tx, "INSERT INTO "+e.prefix+"audit ("+columns+") VALUES "+strings.Join(rows, ","))
			runIn(t, tx, "INSERT INTO "+e.prefix+"audit_personal (org, n, address, agent, mail, salt) VALUES "+strings.Join(personal, ","))
		}
		runIn(t, tx, fmt.Sprintf("INSERT INTO %saudit_heads (org, n, time, hash) VALUES ('acme', %d, %d, '%s')", e.prefix, head.Count, head.Time.UnixMilli(), head.Hash))
		expect(t, "Commit", tx.Commit(), nil)
		start := time.Now()
		e.expectChain(t, "acme", head, 0)
		t.Logf("%d entries verified in %v", n, time.Since(start))
		run(t, e.db, fmt.Sprintf("UPDATE %saudit SET actor = 'adb' WHERE n = %d", e.prefix, n-7))
		e.expectChain(t, "acme", head, int64(n-7))
		start = time.Now()
		expect(t, "Seal", e.Audit().Seal(t.Context(), "acme", int64(n-5)), nil)
		t.Logf("sealed in %v", time.Since(start))
		e.expectChain(t, "acme", head, 0)
	})
}

func runIn(t *testing.T, tx *sql.Tx, statement string) {
	t.Helper()
	if _, err := tx.Exec(statement); err != nil {
		t.Fatal(err)
	}
}

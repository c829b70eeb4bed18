package enginetest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/apikey"
	"github.com/tenantkit/tenantkit/auth/audit"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// TestUsesAreInTheLogOfTheRecordsOrg names another org, or none, with a use of a token. The ledger ignores it,
// and so does the log.
func TestUsesAreInTheLogOfTheRecordsOrg(t *testing.T) {
	eachAudited(t, func(t *testing.T, e *embedded) {
		for _, named := range []auth.OrgKey{"globex", ""} {
			limited := recordOf("acme", "limited by "+string(named))
			limited.MaxUses = 1
			family := recordOf("acme", "family of "+string(named))
			expect(t, "Issue", e.Ledger().Issue(t.Context(), limited, nil, 10), nil)
			expect(t, "Issue", e.Ledger().Issue(t.Context(), family, nil, 10), nil)
			limited.Org, family.Org = named, named
			expect(t, "Spend", spend(t.Context(), e.Ledger(), limited), nil)
			expect(t, "Renew", e.Ledger().Renew(t.Context(), family, family, 0), nil)
			expect(t, "Spend", spend(t.Context(), e.Ledger(), family), token.ErrReused)
		}
		want := strings.TrimSpace(strings.Repeat("token.made token.made token.spent token.renewed token.reused ", 2))
		if got := strings.Join(e.verbsOf(t, "acme"), " "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		for _, other := range []auth.OrgKey{"globex", ""} {
			if got := e.verbsOf(t, other); len(got) > 0 {
				t.Errorf("%q has %q", other, got)
			}
		}
	})
}

// TestDeleteOrgIsCompleted deletes an org of which an earlier call has left the log alone.
func TestDeleteOrgIsCompleted(t *testing.T) {
	eachAudited(t, func(t *testing.T, e *embedded) {
		for range 5 {
			expect(t, "Append", e.Audit().Append(t.Context(), auth.Event{Org: "acme", Verb: "org.deleted"}, "ann@acme.example"), nil)
		}
		for range 3 {
			expect(t, "DeleteOrg", e.DeleteOrg(t.Context(), "acme"), nil)
			if got := strings.Join(e.verbsOf(t, "acme"), " "); got != "org.deleted audit.sealed" {
				t.Errorf("%q", got)
			}
			e.expectChain(t, "acme", audit.Head{}, 0)
		}
		if head := must(e.Audit().Head(t.Context(), "acme"))(t); head.Count != 6 {
			t.Errorf("%d entries", head.Count) // a call that finds nothing to delete adds none
		}
	})
}

// TestEraseIsAboutOneAccount erases accounts one of which has made the other.
func TestEraseIsAboutOneAccount(t *testing.T) {
	const mail = "ben@acme.example"
	mails := func(t *testing.T, e *embedded) (n int) {
		for _, entry := range must(e.Audit().List(t.Context(), "acme", 0, 100))(t) {
			if entry.Mail == mail {
				n++
			}
		}
		return n
	}
	eachAudited(t, func(t *testing.T, e *embedded) {
		for _, test := range []struct {
			account string
			left    int // entries with ben's mail
		}{
			{"ada", 1}, // the other one about ben stays
			{"ben", 0}, // also in what others did about ben
		} {
			run(t, e.db, "DELETE FROM "+e.prefix+"audit")
			run(t, e.db, "DELETE FROM "+e.prefix+"audit_heads")
			run(t, e.db, "DELETE FROM "+e.prefix+"audit_personal")
			for _, entry := range []auth.Event{{Verb: "account.made", Actor: "ada", Account: "ben"}, {Verb: "account.changed", Actor: "eve", Account: "ben"}} {
				entry.Org = "acme"
				expect(t, "Append", e.Audit().Append(t.Context(), entry, mail), nil)
			}
			_ = must(e.Audit().Erase(t.Context(), "acme", test.account))(t)
			if got := mails(t, e); got != test.left {
				t.Errorf("%s is erased: %d entries have the mail of ben, want %d", test.account, got, test.left)
			}
			e.expectChain(t, "acme", audit.Head{}, 0)
		}
	})
}

// TestEraseLooksUpNoRowByItself sees the plans of what Erase deletes. A plan with a SubPlan looks through the
// entries of the account again for each row of the org, once there are more of them than fit in work_mem.
func TestEraseLooksUpNoRowByItself(t *testing.T) {
	t.Parallel()
	h := newPostgresHome(t)
	h.audited = true
	e := newEmbedded(t, h)
	x := &explained{Tx: e.begin(t)}
	defer x.Rollback()
	in := must(e.In(t.Context(), x))(t)
	_ = must(in.Audit().Erase(t.Context(), "acme", "ann"))(t)
	if !strings.Contains(x.plans, "Delete on") || strings.Contains(x.plans, "SubPlan") {
		t.Error(x.plans)
	}
}

// explained keeps the plans of what is deleted in a transaction.
type explained struct {
	*sql.Tx
	plans string
}

func (x *explained) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if strings.HasPrefix(query, "DELETE") {
		rows, err := x.Tx.QueryContext(ctx, "EXPLAIN "+query, args...)
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		for step := ""; rows.Next(); x.plans += step + "\n" {
			if err := rows.Scan(&step); err != nil {
				return nil, err
			}
		}
		if err := rows.Err(); err != nil {
			return nil, err
		}
	}
	return x.Tx.ExecContext(ctx, query, args...)
}

// TestMakersOfCredentials ends an account that made a credential for another one.
func TestMakersOfCredentials(t *testing.T) {
	_, secret := signing.Generate()
	ctx := context.Background()
	eachAudited(t, func(t *testing.T, e *embedded) {
		credentials := credentialsOf(t, e)
		expect(t, "Put", credentials.Put(ctx, "acme", clientKeyOf("acme"), secret, signature.Credential{Account: "ben", Maker: "ann", Name: "ann"}), nil)
		expect(t, "RevokeAccount", e.RevokeAccount(ctx, "acme", "ann"), nil)
		if got := strings.Join(e.verbsOf(t, "acme"), " "); got != "credential.made" {
			t.Errorf("%q after an account of which nothing was ended", got)
		}
		if c := must(credentials.Credential(ctx, clientKeyOf("acme")))(t); c.Maker != "ann" || c.Account != "ben" {
			t.Errorf("%+v", c)
		}
		expect(t, "DeleteAccount", e.DeleteAccount(ctx, "acme", "ann"), nil)
		if c := must(credentials.Credential(ctx, clientKeyOf("acme")))(t); c.Maker != "" || c.Account != "ben" || c.Name != "ann" {
			t.Errorf("%+v", c)
		}
	})
}

// TestALogHasNoActorsOfAnotherOrg changes something of another org in a request: "ann" of that one has not done it.
func TestALogHasNoActorsOfAnotherOrg(t *testing.T) {
	eachAudited(t, func(t *testing.T, e *embedded) {
		e.request(t, func(ctx context.Context) {
			r := ctxRequest(ctx)
			auth.Identify(r, auth.Principal{Org: "acme", Account: "ann", Mechanism: "session", SessionID: "of acme"})
			for _, org := range []auth.OrgKey{"acme", "globex"} {
				expect(t, "Create", e.Sessions().Create(ctx, annsSession(org), 0), nil)
				expect(t, "Append", e.Audit().Append(ctx, auth.Event{Org: org, Verb: "account.changed"}, ""), nil)
			}
		})
		for org, want := range map[auth.OrgKey]string{"acme": "ann session:of acme", "globex": " "} {
			for _, entry := range must(e.Audit().List(t.Context(), org, 0, 10))(t) {
				if got := entry.Actor + " " + entry.By; got != want {
					t.Errorf("%s: %s by %q, want %q", org, entry.Verb, got, want)
				}
			}
		}
	})
}

func ctxRequest(ctx context.Context) *http.Request {
	return httptest.NewRequest(http.MethodGet, "https://service.example/acme/v2/x", nil).WithContext(ctx)
}

// TestFactorsOfPersons enrols a second factor that is a person's, in a request to one org. Its administrators see it, and
// not what the person is called at all orgs. The persons of all orgs do not wait for one chain.
func TestFactorsOfPersons(t *testing.T) {
	eachAudited(t, func(t *testing.T, e *embedded) {
		factor := session.Factor{Secret: session.FactorSecret(make([]byte, 20))}
		save := func(ctx context.Context, person string) {
			expect(t, "Save", must(e.Factors())(t).Save(ctx, auth.PersonKey, person, factor), nil)
		}
		e.request(t, func(ctx context.Context) { save(ctx, "person-1") })
		save(t.Context(), "person-2") // outside of a request
		for org, account := range map[auth.OrgKey]string{"acme": "", auth.PersonKey: "person-2"} {
			entries := must(e.Audit().List(t.Context(), org, 0, 10))(t)
			if len(entries) != 1 || entries[0].Verb != "factor.enrolled" || entries[0].Account != account {
				t.Errorf("%s: %+v", org, entries)
			}
			e.expectChain(t, org, audit.Head{}, 0)
		}
	})
}

// TestTicketsDoNotWaitForTheLog asks for a mailed ticket, as anybody can, while a transaction of the application has the
// org's chain. The ticket leaves no entry.
func TestTicketsDoNotWaitForTheLog(t *testing.T) {
	eachAudited(t, func(t *testing.T, e *embedded) {
		if e.dialect == sqlstore.SQLite {
			t.Skip("all writes run one at a time")
		}
		tx := e.begin(t)
		defer tx.Rollback()
		expect(t, "Append", must(e.In(t.Context(), tx))(t).Audit().Append(t.Context(), auth.Event{Org: "acme", Verb: "account.changed"}, ""), nil)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		for limit := range 2 {
			ticket := sessionOf(rand.Text())
			ticket.Org, ticket.Ticket = "acme", "reset"
			expect(t, "Create", e.Sessions().Create(ctx, ticket, limit), nil)
		}
	})
}

// TestVerbsAtOnce runs verbs of all kinds about two accounts of one org, from two instances and in transactions of the
// application with two verbs each. PostgreSQL must have no deadlock to end, and the chain holds.
func TestVerbsAtOnce(t *testing.T) {
	_, secret := signing.Generate()
	eachAudited(t, func(t *testing.T, e *embedded) {
		if e.dialect == sqlstore.PostgreSQL { // which counts deadlocks by database, and other tests make some
			source, h := newDatabase(t), e.home
			h.open = func(t testing.TB) *sql.DB { return openDB(t, "pgx", source) }
			e = newEmbedded(t, h)
		}
		deadlocks := func() (n int) {
			if e.dialect == sqlstore.PostgreSQL {
				expect(t, "stats", e.db.QueryRow("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()").Scan(&n), nil)
			}
			return n
		}
		before := deadlocks()
		stores := []*sqlstore.Store{e.Store, e.home.store(t)}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		var wg sync.WaitGroup
		var done atomic.Int64
		const enough = 200
		worker := func(verb func(s *sqlstore.Store, account string, i int) error) {
			for w, s := range stores {
				wg.Go(func() {
					for i := w; ctx.Err() == nil; i++ {
						err := verb(s, []string{"ann", "ben"}[i%2], i)
						switch {
						case ctx.Err() != nil:
						case err == nil:
							if done.Add(1) == enough {
								cancel()
							}
						case auth.IsNotFound(err), errors.Is(err, token.ErrNotFound), errors.Is(err, token.ErrTooMany), errors.Is(err, token.ErrRevoked), errors.Is(err, auth.ErrConflict), errors.Is(err, apikey.ErrTooMany):
						default:
							t.Error(err)
							return
						}
					}
				})
			}
		}
		org := auth.OrgKey("acme")
		worker(func(s *sqlstore.Store, account string, i int) error {
			n := sessionOf(rand.Text())
			n.Org, n.Account = org, account
			return s.Sessions().Create(ctx, n, 3)
		})
		worker(func(s *sqlstore.Store, account string, i int) error {
			r := recordOf(org, rand.Text())
			r.Subject, r.MaxUses = account, 1
			if err := s.Ledger().Issue(ctx, r, nil, 20); err != nil {
				return err
			}
			return spend(ctx, s.Ledger(), r)
		})
		worker(func(s *sqlstore.Store, account string, i int) error {
			if i%3 == 0 {
				_, err := s.Ledger().RevokeSubject(ctx, token.Holder{Org: org, ClientKey: token.Any, Subject: account})
				return err
			}
			if i%7 == 0 {
				return s.DeleteAccount(ctx, org, account)
			}
			return s.RevokeAccount(ctx, org, account)
		})
		worker(func(s *sqlstore.Store, account string, i int) error {
			if i%5 == 0 {
				return must(s.Credentials())(t).Delete(ctx, org, clientKeyOf(org))
			}
			return must(s.Credentials())(t).Put(ctx, org, clientKeyOf(org), secret, signature.Credential{Account: account, Maker: "ann"})
		})
		worker(func(s *sqlstore.Store, account string, i int) error {
			tx, err := e.db.BeginTx(ctx, nil)
			if err != nil && strings.Contains(err.Error(), "database is locked") {
				return nil // SQLite has no queue: the application repeats
			}
			if err != nil {
				return err
			}
			defer tx.Rollback()
			in, err := s.In(ctx, tx)
			if err != nil {
				return err
			}
			r, k := recordOf(org, rand.Text()), apiKeyOf(org, account)
			k.ID, r.Subject = rand.Text(), account
			verbs := []func() error{
				func() error { return in.APIKeys().Add(ctx, k, 1000) },
				func() error { return in.Ledger().Issue(ctx, r, nil, 1000) },
				func() error { _, err := in.Sessions().DeleteAll(ctx, org, account, ""); return err },
				func() error {
					return in.Audit().Append(ctx, auth.Event{Org: org, Verb: "account.changed", Account: account}, "")
				},
			}
			for j := range verbs {
				if err := verbs[(i+j)%len(verbs)](); err != nil {
					return err
				}
			}
			return tx.Commit()
		})
		worker(func(s *sqlstore.Store, account string, i int) error {
			head, err := s.Audit().Head(ctx, org)
			if err == nil && i%4 == 0 {
				return s.Audit().Seal(ctx, org, max(head.Count-20, 0))
			}
			if err == nil && i%4 == 1 {
				_, err = s.Audit().Erase(ctx, org, account)
			}
			if err == nil {
				err = s.Audit().Verify(ctx, org, audit.Head{}) // the head may have been sealed meanwhile
			}
			return err
		})
		wg.Wait()
		n := deadlocks() - before
		t.Logf("%d verbs, %d deadlocks", done.Load(), n)
		if n > 0 || done.Load() < enough {
			t.Errorf("%d deadlocks, %d verbs", n, done.Load())
		}
		e.expectChain(t, org, must(e.Audit().Head(t.Context(), org))(t), 0)
	})
}

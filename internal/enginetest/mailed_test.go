package enginetest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
)

// mailing is one process of a server for mailed tickets.
type mailing struct {
	manager *session.Manager
	mux     *auth.Mux
	mails   chan session.MailTicket
	changed atomic.Int64 // passwords that were set
}

func newMailing(directory auth.Directory, sessions session.Store, attempts session.Attempts) *mailing {
	w := &mailing{mails: make(chan session.MailTicket, 1)}
	w.manager = &session.Manager{Store: sessions, Attempts: attempts, PasswordStore: passwords{"ann"}, Hasher: new(logins)}
	guard := &auth.Guard{BaseURL: "http://127.0.0.1", Directory: directory, OrgIDs: true, Roles: auth.RolesDoNotLimit, Mechanisms: []auth.Mechanism{w.manager}, Timeout: patience}
	w.mux = guard.Mux()
	verb := func(path string, do func(*http.Request) error) {
		w.mux.HandleFunc("POST "+path, auth.Public, func(rw http.ResponseWriter, r *http.Request) {
			if err := do(r); err != nil {
				auth.Fail(rw, r, err)
			}
		})
	}
	verb("/forgotten", func(r *http.Request) error {
		return w.manager.Mail().SendReset(r, "ann", func(_ context.Context, _ string, ticket session.MailTicket) error {
			w.mails <- ticket
			return nil
		}, func(_ context.Context, err error) { panic(err) })
	})
	verb("/reset", func(r *http.Request) error {
		var once sync.Once // it is called again if it took so long that its time is over
		return w.manager.Mail().ResetPassword(r, r.Header.Get("Ticket"), "next password", func(context.Context, string, string, time.Time) error {
			once.Do(func() { w.changed.Add(1) })
			return nil
		})
	})
	verb("/address", func(r *http.Request) error {
		ticket, err := w.manager.Mail().AddressTicket(r, "ann", "ann@example.test")
		if err == nil {
			w.mails <- ticket
		}
		return err
	})
	verb("/verify", func(r *http.Request) error {
		account, address, err := w.manager.Mail().VerifyAddress(r, r.Header.Get("Ticket"))
		if err == nil && account+address == "annann@example.test" {
			w.changed.Add(1)
		}
		return err
	})
	return w
}

func (w *mailing) post(path, ticket string) (status int) {
	r := httptest.NewRequest("POST", "http://127.0.0.1/acme/v2"+path, nil)
	r.Header.Set("Ticket", ticket)
	rec := httptest.NewRecorder()
	w.mux.ServeHTTP(rec, r)
	return rec.Code
}

// TestF23TicketsOnTwoProcesses redeems a ticket on two processes at once, of which one has
// made it.
func TestF23TicketsOnTwoProcesses(t *testing.T) {
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme", ID: "0197e1f4"})
	directory.PutAccount(auth.Account{ID: "ann", Org: "0197e1f4"})
	run := func(name string, processes [2]*mailing) {
		t.Run("F23 "+name, func(t *testing.T) {
			for ask, redeem := range map[string]string{"/forgotten": "/reset", "/address": "/verify"} {
				if status := processes[0].post(ask, ""); status != 200 {
					t.Fatalf("%s: %d", ask, status)
				}
				ticket := string(<-processes[0].mails)
				var all sync.WaitGroup
				var passed atomic.Int64
				for i := range 8 { // the queue of hashes has a place for each
					all.Go(func() {
						switch status := processes[i%2].post(redeem, ticket); status {
						case 200:
							passed.Add(1)
						case 401:
						default:
							t.Errorf("%s: %d", redeem, status)
						}
					})
				}
				all.Wait()
				changed := processes[0].changed.Swap(0) + processes[1].changed.Swap(0)
				if passed.Load() != 1 || changed != 1 {
					t.Errorf("%s: %d passed, and %d changed something", redeem, passed.Load(), changed)
				}
			}
			records, err := processes[1].manager.Store.List(t.Context(), "0197e1f4", "ann")
			if len(records) > 0 || err != nil {
				t.Errorf("left: %+v, %v", records, err)
			}
		})
	}
	for _, h := range homes(t) {
		stores := h.instances(t, 2)
		run(h.name, [2]*mailing{
			newMailing(directory, stores[0].Sessions(), stores[0].Attempts()),
			newMailing(directory, stores[1].Sessions(), stores[1].Attempts()),
		})
	}
	if engine := os.Getenv("ENGINE"); engine != "" && engine != "Redis" {
		return
	}
	addr := startRedis(t).addr()
	first, second := storesAt(t, addr), storesAt(t, addr)
	run("Redis", [2]*mailing{
		newMailing(directory, first.sessions, first.attempts), newMailing(directory, second.sessions, second.attempts),
	})
}

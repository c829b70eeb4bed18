package session_test

import (
	"context"
	"crypto/fips140"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/envelope"
)

// table is the application's storage of passwords.
type table map[string]string

func (t table) Password(_ context.Context, org auth.OrgKey, login string) (account, encoded string, err error) {
	encoded, ok := t[string(org)+"/"+login]
	if !ok {
		return "", "", auth.ErrNotFound
	}
	return login, encoded, nil
}

// application is a small server for the examples.
type application struct {
	directory *auth.Memory
	manager   *session.Manager
	mux       *auth.Mux
	client    *http.Client
	url       string
	close     func()
}

// newApplication returns a server with the account ann. Its password is "open sesame".
func newApplication() *application {
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	directory.PutAccount(auth.Account{ID: "ann", Org: "acme"})
	memory := new(session.Memory)
	manager := &session.Manager{Store: memory.Sessions(), Attempts: memory.Attempts(), FactorStore: memory.Factors(),
		Hasher:      session.PBKDF2{Iterations: 1000}, // few, so that the example is fast
		SHA256Codes: fips140.Enforced()}
	encoded, err := manager.Passwords().Hash(context.Background(), "open sesame")
	if err != nil {
		panic(err)
	}
	manager.PasswordStore = table{"acme/ann": encoded}
	guard := &auth.Guard{BaseURL: "http://localhost:8080", Directory: directory, Roles: auth.RolesLimit, Mechanisms: []auth.Mechanism{manager}}
	mux := guard.Mux()
	server := httptest.NewServer(mux)
	jar, _ := cookiejar.New(nil)
	return &application{directory, manager, mux, &http.Client{Jar: jar}, server.URL + "/acme/v2", server.Close}
}

// post registers a handler for POST.
func (a *application) post(path string, n auth.Need, do func(http.ResponseWriter, *http.Request) error) {
	a.mux.HandleFunc("POST "+path, n, func(w http.ResponseWriter, r *http.Request) {
		if err := do(w, r); err != nil {
			auth.Fail(w, r, err)
			return
		}
		auth.Reply(w, r, envelope.Result[string]{Data: "done"})
	})
}

// login registers the route that the other examples begin with.
func (a *application) login() {
	a.post("/login", auth.Public, func(w http.ResponseWriter, r *http.Request) error {
		_, err := a.manager.Login(w, r, session.LoginForm{Login: r.PostFormValue("login"), Password: r.PostFormValue("password"), Code: r.PostFormValue("code")})
		return err
	})
}

// send sends a form, and prints the status.
func (a *application) send(path string, pairs ...string) {
	values := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		values.Set(pairs[i], pairs[i+1])
	}
	reply, err := a.client.PostForm(a.url+path, values)
	if err != nil {
		panic(err)
	}
	reply.Body.Close()
	fmt.Println(path, reply.StatusCode)
}

// In a server of one process, one Memory is all three stores.
func ExampleMemory() {
	memory := new(session.Memory)
	manager := &session.Manager{Store: memory.Sessions(), Attempts: memory.Attempts(), FactorStore: memory.Factors()}
	fmt.Println(manager.Bind(new(auth.Settings))) // as a Guard does
	// Output: <nil>
}

func ExampleManager_Login() {
	a := newApplication()
	defer a.close()
	a.post("/login", auth.Public, func(w http.ResponseWriter, r *http.Request) error {
		p, err := a.manager.Login(w, r, session.LoginForm{Login: r.PostFormValue("login"), Password: r.PostFormValue("password")})
		if errors.Is(err, session.ErrSecondFactor) {
			fmt.Println("a code is wanted") // the reply of auth.Fail says the same
		}
		if err == nil {
			fmt.Println("hello,", p.Account)
		}
		return err
	})
	a.send("/login", "login", "ann", "password", "open barley")
	a.send("/login", "login", "ann", "password", "open sesame")
	// Output:
	// /login 401
	// hello, ann
	// /login 200
}

// A device key, derived from another key of the server. Each label gives another key.
func ExampleDeviceKey() {
	a := newApplication()
	defer a.close()
	serverKey := make([]byte, 32) // from a file or a key manager; the same on all instances
	key, err := hkdf.Key(sha256.New, serverKey, nil, "example.com device cookies", 32)
	if err != nil {
		panic(err)
	}
	a.manager.DeviceKey = session.NewDeviceKey(key)
	a.login()
	elsewhere := *a.client
	elsewhere.Jar = nil
	ann := a.client
	a.send("/login", "login", "ann", "password", "open sesame")
	fmt.Println("somebody guesses")
	a.client = &elsewhere
	for range 5 {
		a.send("/login", "login", "ann", "password", "open barley")
	}
	a.send("/login", "login", "ann", "password", "open sesame")
	fmt.Println("ann, where she has logged in before")
	a.client = ann
	a.send("/login", "login", "ann", "password", "open sesame")
	fmt.Println(a.manager.DeviceKey)
	// Output:
	// /login 200
	// somebody guesses
	// /login 401
	// /login 401
	// /login 401
	// /login 401
	// /login 401
	// /login 429
	// ann, where she has logged in before
	// /login 200
	// REDACTED
}

// Start creates a session for an account that was authenticated elsewhere.
func ExampleManager_Start() {
	a := newApplication()
	defer a.close()
	a.post("/sso/callback", auth.Public, func(w http.ResponseWriter, r *http.Request) error {
		// From the verified ID token: the account of its iss and sub, its auth_time and its amr.
		account, proof := "ann", session.Proof{At: time.Now().Add(-time.Minute), Methods: []string{"pwd"}, Issuer: "https://login.example"}
		_, err := a.manager.Start(w, r, account, proof)
		return err
	})
	a.send("/sso/callback")
	// Output: /sso/callback 200
}

// A second factor is enrolled with the session, and required at the next login.
func ExampleManager_VerifyCode() {
	a := newApplication()
	defer a.close()
	a.login()
	var secret session.FactorSecret
	var recovery []string
	a.post("/factor", auth.Optional.Fresh(10*time.Minute), func(w http.ResponseWriter, r *http.Request) error {
		enrolment, err := a.manager.Factors().Enrol(r)
		secret = enrolment.Secret // shown once, as Factors.OTPAuth in a QR code
		return err
	})
	a.post("/factor/confirm", auth.Optional, func(w http.ResponseWriter, r *http.Request) (err error) {
		recovery, err = a.manager.Factors().Confirm(w, r, r.PostFormValue("code"))
		return err
	})
	a.post("/verify", auth.Public, func(w http.ResponseWriter, r *http.Request) error {
		_, err := a.manager.VerifyCode(w, r, session.LoginForm{Code: r.PostFormValue("code")})
		return err
	})
	a.send("/login", "login", "ann", "password", "open sesame")
	a.send("/factor")
	a.send("/factor/confirm", "code", authtest.TOTP(secret, time.Now()))
	a.send("/login", "login", "ann", "password", "open sesame")
	a.send("/verify", "code", recovery[0])
	// Output:
	// /login 200
	// /factor 200
	// /factor/confirm 200
	// /login 403
	// /verify 200
}

// Support acts for an account, for an hour at most. Each request has both names.
func ExampleManager_Act() {
	a := newApplication()
	defer a.close()
	a.directory.PutRole("acme", auth.Role{Name: "administrator", Scope: []string{"admin", "object"}})
	a.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Roles: []string{"administrator"}})
	a.directory.PutAccount(auth.Account{ID: "bob", Org: "acme"})
	a.manager.Administrator = func(p auth.Principal) bool { return p.HasRole("administrator") }
	a.login()
	a.post("/act", auth.Allow("admin.update").By(session.Name), func(w http.ResponseWriter, r *http.Request) error {
		_, err := a.manager.Act(w, r, r.PostFormValue("account"), r.PostFormValue("reason"))
		return err
	})
	a.post("/me", auth.Authenticated, func(_ http.ResponseWriter, r *http.Request) error {
		p := auth.From(r.Context())
		fmt.Println(p.Account, "by", p.Actor())
		return nil
	})
	a.send("/login", "login", "ann", "password", "open sesame")
	a.send("/act", "account", "bob", "reason", "case 4711: the list is empty")
	a.send("/me")
	// Output:
	// /login 200
	// /act 200
	// bob by ann
	// /me 200
}

// An administrator invites somebody by mail. The account is made when the ticket comes back.
func ExampleMail_Invite() {
	a := newApplication()
	defer a.close()
	a.directory.PutRole("acme", auth.Role{Name: "administrator", Scope: []string{"admin", "object"}})
	a.directory.PutRole("acme", auth.Role{Name: "reader", Scope: []string{"object.read"}})
	a.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Roles: []string{"administrator"}})
	a.manager.Administrator = func(p auth.Principal) bool { return p.HasRole("administrator") }
	a.login()
	var mailed string
	a.post("/invitations", auth.Allow("admin.update"), func(_ http.ResponseWriter, r *http.Request) error {
		ticket, err := a.manager.Mail().Invite(r, session.Invitation{Address: "eve@example.com", Roles: []string{"reader"}})
		mailed = string(ticket) // behind a # in the link of the mail
		return err
	})
	a.post("/join", auth.Public, func(_ http.ResponseWriter, r *http.Request) error {
		return a.manager.Mail().Accept(r, r.PostFormValue("ticket"),
			func(ctx context.Context, i session.Invitation, end func(context.Context, session.Ending) error) error {
				if err := end(ctx, nil); err != nil { // with SQL: end(ctx, in.Sessions()), in a transaction with the row of the account
					return err
				}
				a.directory.PutAccount(auth.Account{ID: i.Address, Org: "acme", Roles: i.Roles})
				return nil
			})
	})
	a.send("/login", "login", "ann", "password", "open sesame")
	a.send("/invitations")
	a.send("/join", "ticket", mailed)
	a.send("/join", "ticket", mailed)
	// Output:
	// /login 200
	// /invitations 200
	// /join 200
	// /join 401
}

// A person walks from one org to another, whose policy decides. Afterwards both sessions are ended.
func ExampleManager_Enter() {
	a := newApplication()
	defer a.close()
	a.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Person: "ann@example.com"})
	a.directory.PutAccount(auth.Account{ID: "7", Org: "globex", Person: "ann@example.com"})
	a.directory.PutOrg(auth.Org{Code: "globex", Session: auth.SessionPolicy{EnterWith: []string{session.MethodPassword}}})
	a.login()
	a.post("/enter", auth.Authenticated.By(session.Name), func(w http.ResponseWriter, r *http.Request) error {
		there, err := a.manager.Enter(w, r, r.PostFormValue("org"))
		fmt.Println(there.Org, there.Account)
		return err
	})
	a.post("/everywhere", auth.Authenticated, func(_ http.ResponseWriter, r *http.Request) error {
		ended, err := a.manager.Sessions().RevokeAll(r.Context(), auth.PersonKey, "ann@example.com", "")
		fmt.Println(ended)
		return err
	})
	a.send("/login", "login", "ann", "password", "open sesame")
	a.send("/enter", "org", "globex")
	a.send("/everywhere")
	// Output:
	// /login 200
	// globex 7
	// /enter 200
	// 2
	// /everywhere 200
}

// A device is remembered with a right code, and its owner ends that again.
func ExampleSessions_Devices() {
	a := newApplication()
	defer a.close()
	a.manager.DeviceKey = session.NewDeviceKey([]byte("32 random bytes from your secrets"))
	a.login()
	secret := session.FactorSecret("enrolled before, 20 B")
	a.manager.FactorStore.Save(context.Background(), "acme", "ann", session.Factor{Secret: secret})
	a.post("/verify", auth.Public, func(w http.ResponseWriter, r *http.Request) error {
		_, err := a.manager.VerifyCode(w, r, session.LoginForm{Code: r.PostFormValue("code"), RememberDevice: true, DeviceName: "Ann's laptop"})
		return err
	})
	a.post("/forget", auth.Authenticated, func(_ http.ResponseWriter, r *http.Request) error {
		p, of := auth.From(r.Context()), a.manager.Sessions()
		devices, err := of.Devices(r.Context(), auth.TenantFrom(r.Context()).Org, p.Account)
		for _, d := range devices {
			fmt.Printf("%s, this one: %v\n", d.Agent, d.ID == of.Device(r, p.Account))
			err = errors.Join(err, of.Revoke(r.Context(), p.Org, p.Account, d.ID))
		}
		return err
	})
	a.send("/login", "login", "ann", "password", "open sesame")
	a.send("/verify", "code", authtest.TOTP(secret, time.Now()))
	a.send("/login", "login", "ann", "password", "open sesame")
	a.send("/forget")
	a.send("/login", "login", "ann", "password", "open sesame")
	// Output:
	// /login 403
	// /verify 200
	// /login 200
	// Ann's laptop, this one: true
	// /forget 200
	// /login 403
}

// Factors.Enrol begins the enrolment of a second factor; Factors.Confirm makes it active.
func ExampleFactors_Enrol() {
	a := newApplication()
	defer a.close()
	a.login()
	a.post("/factor", auth.Authenticated.Fresh(10*time.Minute), func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Set("Cache-Control", "no-store")
		enrolment, err := a.manager.Factors().Enrol(r)
		uri := a.manager.Factors().OTPAuth("Acme", enrolment.Account, enrolment.Secret) // for a QR code
		fmt.Println(uri[:29], enrolment.Secret)
		return err
	})
	a.send("/login", "login", "ann", "password", "open sesame")
	a.send("/factor")
	// Output:
	// /login 200
	// otpauth://totp/Acme:ann?secre REDACTED
	// /factor 200
}

func ExampleFactors_Confirm() {
	a := newApplication()
	defer a.close()
	a.login()
	var secret session.FactorSecret
	a.post("/factor", auth.Optional.Fresh(10*time.Minute), func(w http.ResponseWriter, r *http.Request) error {
		enrolment, err := a.manager.Factors().Enrol(r)
		secret = enrolment.Secret
		return err
	})
	a.post("/factor/confirm", auth.Optional, func(w http.ResponseWriter, r *http.Request) error {
		recovery, err := a.manager.Factors().Confirm(w, r, r.PostFormValue("code"))
		fmt.Println(len(recovery), "recovery codes")
		return err
	})
	a.send("/login", "login", "ann", "password", "open sesame")
	a.send("/factor")
	a.send("/factor/confirm", "code", "no code")
	a.send("/factor/confirm", "code", authtest.TOTP(secret, time.Now()))
	// Output:
	// /login 200
	// /factor 200
	// 0 recovery codes
	// /factor/confirm 401
	// 10 recovery codes
	// /factor/confirm 200
}

func ExampleFactors_Remove() {
	a := newApplication()
	defer a.close()
	a.login()
	var recovery []string
	a.post("/factor", auth.Authenticated, func(w http.ResponseWriter, r *http.Request) error {
		enrolment, err := a.manager.Factors().Enrol(r)
		if err != nil {
			return err
		}
		recovery, err = a.manager.Factors().Confirm(w, r, authtest.TOTP(enrolment.Secret, time.Now())) // both steps at once, to keep the example short
		return err
	})
	a.post("/factor/remove", auth.Authenticated.Fresh(10*time.Minute), func(w http.ResponseWriter, r *http.Request) error {
		return a.manager.Factors().Remove(r, r.PostFormValue("code"))
	})
	a.send("/login", "login", "ann", "password", "open sesame")
	a.send("/factor")
	a.send("/factor/remove", "code", "no code")
	a.send("/factor/remove", "code", recovery[0])
	// Output:
	// /login 200
	// /factor 200
	// /factor/remove 401
	// /factor/remove 200
}

// The route requires a fresh session. Reauthenticate makes it fresh (step-up).
func ExampleManager_Reauthenticate() {
	a := newApplication()
	defer a.close()
	a.login()
	a.post("/proof", auth.Authenticated, func(w http.ResponseWriter, r *http.Request) error {
		_, err := a.manager.Reauthenticate(w, r, "ann", r.PostFormValue("password"))
		return err
	})
	a.post("/payout", auth.Authenticated.Fresh(50*time.Millisecond), func(http.ResponseWriter, *http.Request) error { return nil })
	a.send("/login", "login", "ann", "password", "open sesame")
	time.Sleep(100 * time.Millisecond)
	a.send("/payout")
	a.send("/proof", "password", "open sesame")
	// Output:
	// /login 200
	// /payout 403
	// /proof 200
}

// The callback stores the new password and Account.Changed.
func ExamplePasswords_Change() {
	a := newApplication()
	defer a.close()
	a.login()
	a.post("/password", auth.Authenticated.Fresh(10*time.Minute), func(w http.ResponseWriter, r *http.Request) error {
		set := func(_ context.Context, encoded string, changed time.Time) error {
			a.manager.PasswordStore.(table)["acme/ann"] = encoded
			a.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Changed: changed})
			return nil
		}
		return a.manager.Passwords().Change(w, r, "ann", r.PostFormValue("password"), r.PostFormValue("new"), set)
	})
	a.send("/login", "login", "ann", "password", "open sesame")
	a.send("/password", "password", "wrong", "new", "close sesame")
	a.send("/password", "password", "open sesame", "new", "close sesame")
	a.send("/password", "password", "close sesame", "new", "open sesame") // with the same session
	// Output:
	// /login 200
	// /password 401
	// /password 200
	// /password 200
}

func ExampleManager_Logout() {
	a := newApplication()
	defer a.close()
	a.login()
	a.post("/logout", auth.Public, a.manager.Logout)
	a.post("/me", auth.Authenticated, func(http.ResponseWriter, *http.Request) error { return nil })
	a.send("/login", "login", "ann", "password", "open sesame")
	a.send("/me")
	a.send("/logout")
	a.send("/me")
	// Output:
	// /login 200
	// /me 200
	// /logout 200
	// /me 401
}

// A list of the account's own sessions. It holds no tokens.
func ExampleSessions_List() {
	a := newApplication()
	defer a.close()
	a.login()
	a.post("/sessions", auth.Authenticated, func(w http.ResponseWriter, r *http.Request) error {
		p := auth.From(r.Context())
		sessions, err := a.manager.Sessions().List(r.Context(), auth.TenantFrom(r.Context()).Org, p.Account)
		for _, s := range sessions {
			fmt.Println(s.Address, s.Agent, s.ID == p.SessionID)
		}
		return err
	})
	a.send("/login", "login", "ann", "password", "open sesame")
	a.send("/sessions")
	// Output:
	// /login 200
	// 127.0.0.1 Go-http-client/1.1 true
	// /sessions 200
}

func ExampleSessions_Revoke() {
	a := newApplication()
	defer a.close()
	a.login()
	a.post("/sessions/{id}/end", auth.Authenticated.Fresh(10*time.Minute), func(w http.ResponseWriter, r *http.Request) error {
		p := auth.From(r.Context())
		return a.manager.Sessions().Revoke(r.Context(), p.Org, p.Account, r.PathValue("id")) // only the account's own sessions
	})
	a.send("/login", "login", "ann", "password", "open sesame")
	a.send("/sessions/0123/end")
	// Output:
	// /login 200
	// /sessions/0123/end 404
}

// After a change of the password, Sessions.RevokeAll ends the account's other sessions.
func ExampleSessions_RevokeAll() {
	a := newApplication()
	defer a.close()
	a.login()
	a.post("/password", auth.Authenticated.Fresh(10*time.Minute), func(w http.ResponseWriter, r *http.Request) error {
		p := auth.From(r.Context())
		ended, err := a.manager.Sessions().RevokeAll(r.Context(), p.Org, p.Account, p.SessionID)
		fmt.Println(ended, "ended")
		return err
	})
	a.send("/login", "login", "ann", "password", "open sesame")
	a.client.Jar, _ = cookiejar.New(nil) // another browser
	a.send("/login", "login", "ann", "password", "open sesame")
	a.send("/password")
	// Output:
	// /login 200
	// /login 200
	// 1 ended
	// /password 200
}

// When an org begins to require a second factor, Sessions.RevokeOrg makes everybody log in again.
func ExampleSessions_RevokeOrg() {
	a := newApplication()
	defer a.close()
	a.login()
	a.post("/me", auth.Authenticated, func(http.ResponseWriter, *http.Request) error { return nil })
	a.send("/login", "login", "ann", "password", "open sesame")
	ended, err := a.manager.Sessions().RevokeOrg(context.Background(), "acme")
	fmt.Println(ended, "ended", err)
	a.send("/me")
	// Output:
	// /login 200
	// 1 ended <nil>
	// /me 401
}

func ExampleFactors_OTPAuth() {
	manager := new(session.Manager)
	secret := session.FactorSecret("12345678901234567890") // use 20 random bytes instead
	fmt.Println(manager.Factors().OTPAuth("Acme", "ann@example.com", secret))
	fmt.Println(secret)
	// Output:
	// otpauth://totp/Acme:ann%40example.com?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Acme&algorithm=SHA1&digits=6&period=30
	// REDACTED
}

func ExamplePBKDF2() {
	hasher := session.PBKDF2{Iterations: 10_000} // the default is higher
	encoded, err := hasher.Hash("correct horse battery staple")
	if err != nil {
		panic(err)
	}
	fmt.Println(encoded[:23])
	fmt.Println(hasher.Verify(encoded, "correct horse battery staple"))
	fmt.Println(hasher.Verify(encoded, "incorrect"))
	// Output:
	// $pbkdf2-sha256$i=10000$
	// true false
	// false false
}

// Hash encodes a new password.
func ExamplePasswords_Hash() {
	manager := &session.Manager{Hasher: session.PBKDF2{Iterations: 1000}}
	encoded, err := manager.Passwords().Hash(context.Background(), "open sesame")
	fmt.Println(encoded[:22], err)
	// Output: $pbkdf2-sha256$i=1000$ <nil>
}

func ExampleEnrolment_Base32() {
	secret := session.FactorSecret("12345678901234567890")
	fmt.Println(secret)
	fmt.Println(session.Enrolment{Secret: secret}.Base32()) // only for the page that shows it
	// Output:
	// REDACTED
	// GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ
}

// A handler that creates an account calls SameOrigin itself, because Start comes later.
func ExampleManager_SameOrigin() {
	var sessions session.Manager
	r := httptest.NewRequest(http.MethodPost, "https://api.example.com/acme/v2/accounts", nil)
	fmt.Println(sessions.SameOrigin(r) == nil) // sent by curl, for example
	r.Header.Set("Origin", "https://evil.example")
	fmt.Println(sessions.SameOrigin(r) == nil)
	// Output:
	// true
	// false
}

// oldHasher stands for the Hasher of a service's past, such as one of bcrypt.
type oldHasher struct{}

func (oldHasher) Hash(password string) (string, error) { return "$old$" + password, nil }

func (oldHasher) Verify(encoded, password string) (ok, rehash bool) {
	return encoded == "$old$"+password, false
}

// It becomes the Hasher of a Manager. Its PasswordStore should be a Rehasher, too.
func ExampleMigrating() {
	hasher := session.Migrating(oldHasher{}, session.PBKDF2{Iterations: 1000})
	fmt.Println(hasher.Verify("$old$open sesame", "open barley"))
	fmt.Println(hasher.Verify("$old$open sesame", "open sesame"))
	encoded, err := hasher.Hash("open sesame") // what Rehash gets
	if err != nil {
		panic(err)
	}
	fmt.Println(hasher.Verify(encoded, "open sesame"))
	// Output:
	// false false
	// true true
	// true false
}

// The person gets a link by mail. The page behind it sends the ticket and the new
// password.
func ExampleMail_SendReset() {
	a := newApplication()
	defer a.close()
	mails := make(chan session.MailTicket, 1)
	a.post("/password/forgotten", auth.Public, func(_ http.ResponseWriter, r *http.Request) error {
		return a.manager.Mail().SendReset(r, r.PostFormValue("login"), func(_ context.Context, account string, ticket session.MailTicket) error {
			fmt.Println("a mail to", account, "with the ticket", ticket)
			mails <- ticket // instead of a mail with https://example.com/reset#ticket
			return nil
		}, func(_ context.Context, err error) { log.Print(err) })
	})
	a.post("/password/reset", auth.Public, func(_ http.ResponseWriter, r *http.Request) error {
		return a.manager.Mail().ResetPassword(r, r.PostFormValue("ticket"), r.PostFormValue("new"), func(_ context.Context, account, encoded string, changed time.Time) error {
			a.manager.PasswordStore.(table)["acme/"+account] = encoded
			a.directory.PutAccount(auth.Account{ID: account, Org: "acme", Changed: changed})
			return nil
		})
	})
	a.send("/password/forgotten", "login", "nobody")
	a.send("/password/forgotten", "login", "ann")
	ticket := string(<-mails)
	a.manager.Wait(context.Background()) // for the other one
	a.send("/password/reset", "ticket", ticket, "new", "close sesame")
	a.send("/password/reset", "ticket", ticket, "new", "open barley")
	// Unordered output:
	// /password/forgotten 200
	// /password/forgotten 200
	// a mail to ann with the ticket REDACTED
	// /password/reset 200
	// /password/reset 401
}

// See Mail.SendReset for the ticket.
func ExampleMail_ResetPassword() {
	a := newApplication()
	defer a.close()
	a.post("/password/reset", auth.Public, func(_ http.ResponseWriter, r *http.Request) error {
		return a.manager.Mail().ResetPassword(r, r.PostFormValue("ticket"), r.PostFormValue("new"), func(_ context.Context, account, encoded string, changed time.Time) error {
			return errors.New("store encoded and changed")
		})
	})
	a.send("/password/reset", "ticket", "invented", "new", "close sesame")
	// Output:
	// /password/reset 401
}

// The application mails the ticket to the address.
func ExampleMail_AddressTicket() {
	a := newApplication()
	defer a.close()
	a.login()
	var mailed session.MailTicket
	a.post("/address", auth.Authenticated, func(_ http.ResponseWriter, r *http.Request) (err error) {
		mailed, err = a.manager.Mail().AddressTicket(r, auth.From(r.Context()).Account, r.PostFormValue("address"))
		return err
	})
	// Not Public: the address may be mistyped, and somebody else reads the mail.
	a.post("/address/verify", auth.Authenticated, func(_ http.ResponseWriter, r *http.Request) error {
		account, address, err := a.manager.Mail().VerifyAddress(r, r.PostFormValue("ticket"))
		fmt.Println(account, "reads", address)
		return err
	})
	a.send("/login", "login", "ann", "password", "open sesame")
	a.send("/address", "address", "ann@example.com")
	a.send("/address/verify", "ticket", string(mailed))
	// Output:
	// /login 200
	// /address 200
	// ann reads ann@example.com
	// /address/verify 200
}

// See Mail.AddressTicket for the ticket.
func ExampleMail_VerifyAddress() {
	a := newApplication()
	defer a.close()
	a.post("/address/verify", auth.Public, func(_ http.ResponseWriter, r *http.Request) error {
		_, _, err := a.manager.Mail().VerifyAddress(r, r.PostFormValue("ticket"))
		return err
	})
	a.send("/address/verify", "ticket", "invented")
	// Output:
	// /address/verify 401
}

// New recovery codes, by a code of the factor. Before and after, the page can show how
// many are left.
func ExampleFactors_RenewRecovery() {
	a := newApplication()
	defer a.close()
	a.login()
	var recovery []string
	a.post("/factor", auth.Authenticated, func(w http.ResponseWriter, r *http.Request) error {
		enrolment, err := a.manager.Factors().Enrol(r)
		if err != nil {
			return err
		}
		recovery, err = a.manager.Factors().Confirm(w, r, authtest.TOTP(enrolment.Secret, time.Now())) // both steps at once, to keep the example short
		return err
	})
	a.post("/factor/recovery", auth.Authenticated, func(_ http.ResponseWriter, r *http.Request) (err error) {
		recovery, err = a.manager.Factors().RenewRecovery(r, r.PostFormValue("code"))
		return err
	})
	a.send("/login", "login", "ann", "password", "open sesame")
	a.send("/factor")
	former := recovery[1]
	a.send("/factor/recovery", "code", recovery[0])
	a.send("/factor/recovery", "code", former)
	fmt.Println(a.manager.Factors().State(context.Background(), "acme", "ann"))
	// Output:
	// /login 200
	// /factor 200
	// /factor/recovery 200
	// /factor/recovery 401
	// {true false 10} <nil>
}

// The page of an account, and that of an administrator, show what there is.
func ExampleFactors_State() {
	a := newApplication()
	defer a.close()
	state, err := a.manager.Factors().State(context.Background(), "acme", "ann")
	if err != nil {
		panic(err)
	}
	fmt.Printf("%+v\n", state)
	// Output: {Active:false Pending:false RecoveryLeft:0}
}

// An administrator has made sure that ann has lost the device.
func ExampleFactors_Reset() {
	a := newApplication()
	defer a.close()
	if err := a.manager.Factors().Reset(context.Background(), "acme", "ann"); err != nil {
		panic(err)
	}
	fmt.Println("ann's sessions have ended")
	// Output: ann's sessions have ended
}

// A program that ends: no more requests, then the mails that are on their way.
func ExampleManager_Wait() {
	a := newApplication()
	defer a.close()
	answered := make(chan struct{})
	a.post("/password/forgotten", auth.Public, func(_ http.ResponseWriter, r *http.Request) error {
		return a.manager.Mail().SendReset(r, "ann", func(context.Context, string, session.MailTicket) error {
			<-answered
			time.Sleep(10 * time.Millisecond) // a slow mail server
			fmt.Println("sent")
			return nil
		}, func(_ context.Context, err error) { log.Print(err) })
	})
	a.send("/password/forgotten")
	close(answered)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	fmt.Println(a.manager.Wait(ctx))
	// Output:
	// /password/forgotten 200
	// sent
	// <nil>
}

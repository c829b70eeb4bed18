package main

import (
	"bytes"
	"io"
	"net/mail"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// mailed waits for the n-th mail in a folder, and returns its ticket.
func mailed(t *testing.T, folder string, n int) string {
	t.Helper()
	ticket, _, _ := mailAt(t, folder, n)
	return ticket
}

func mailAt(t *testing.T, folder string, n int) (ticket, to, link string) {
	t.Helper()
	var files []string
	for deadline := time.Now().Add(patience); len(files) < n; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d mails, want %d", len(files), n)
		}
		files, _ = filepath.Glob(filepath.Join(folder, "*.eml"))
	}
	text, err := os.ReadFile(files[n-1])
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(files[n-1]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	m, err := mail.ReadMessage(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(m.Body)
	if err != nil {
		t.Fatal(err)
	}
	address, err := mail.ParseAddress(m.Header.Get("To"))
	if err != nil {
		t.Fatal(err)
	}
	return m.Header.Get("X-Ticket"), address.Address, strings.SplitN(string(body), "\n", 2)[0]
}

func TestInvitations(t *testing.T) {
	t.Parallel()
	folder, mails := t.TempDir(), 0
	s := start(t, "-mail-dir", folder)
	b := s.signedIn(t, s.AdminEmail, s.AdminPassword)
	next := func() string {
		t.Helper()
		mails++
		return mailed(t, folder, mails)
	}
	invite := func() (string, value) {
		t.Helper()
		made := b.post(t, "/admin/invitations", value{"email": "new@acme.example", "roles": []string{"reader"}}).ok(t)
		return next(), made
	}
	accept := func(ticket string) answer {
		t.Helper()
		return s.browser(t).post(t, "/accounts/accept", value{"ticket": ticket, "password": "correct horse", "name": "New"})
	}
	first, _ := invite()
	second, made := invite()
	want := value{"_id": made["_id"], "object": "invitation", "email": "new@acme.example", "roles": []any{"reader"}, "maker": s.AdminAccountID, "expires": made["expires"]}
	if diff := cmp.Diff(want, made); diff != "" {
		t.Errorf("made (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]any{any(want)}, items(t, b.get(t, "/admin/invitations").ok(t), false)); diff != "" {
		t.Errorf("listed (-want +got):\n%s", diff)
	}
	if ticket, to, link := mailAt(t, folder, mails); to != "new@acme.example" || link != s.BaseURL+"/#acme/account?join="+ticket {
		t.Errorf("mailed %q to %s", link, to)
	}
	again := b.post(t, "/admin/invitations/"+made["_id"].(string)+"/resend", nil).ok(t)
	ticket := next()
	if again["expires"] != made["expires"] || again["_id"] == made["_id"] || ticket == second {
		t.Errorf("sent again: %v", again)
	}
	s.refused(t, b.post(t, "/admin/invitations/"+made["_id"].(string)+"/resend", nil), 404, "notFound.unspecified")
	for _, dead := range []string{first, second} {
		s.refused(t, accept(dead), 401, "invalidArgument.locationToken")
	}

	joining := s.browser(t)
	account := joining.post(t, "/accounts/accept", value{"ticket": ticket, "password": "correct horse", "name": "New"}).ok(t)
	if diff := cmp.Diff(value{"_id": account["_id"], "object": "account", "email": "new@acme.example", "name": "New", "roles": []any{"reader"}}, account); diff != "" {
		t.Errorf("accepted (-want +got):\n%s", diff)
	}
	if got := joining.get(t, "/accounts/me").ok(t); got["_id"] != account["_id"] {
		t.Errorf("signed in as %v", got)
	}
	s.refused(t, accept(ticket), 401, "invalidArgument.locationToken")
	s.signedIn(t, "new@acme.example", "correct horse")

	taken, _ := invite() // of an address that has an account
	s.refused(t, accept(taken), 409, "conflict.unspecified")
	id := items(t, b.get(t, "/admin/invitations").ok(t), false)[0].(value)["_id"].(string) // a conflict uses nothing up
	b.send(t, "DELETE", "/admin/invitations/"+id, "").ok(t)
	s.refused(t, accept(taken), 401, "invalidArgument.locationToken")
	s.refused(t, b.send(t, "DELETE", "/admin/invitations/"+id, ""), 404, "notFound.unspecified")

	for name, body := range map[string]value{
		"a role that is none":    {"email": "x@acme.example", "roles": []string{"nobody"}},
		"no address":             {"email": "x"},
		"two lines":              {"email": "x@acme.example\nX-Ticket: x"},
		"an address to write":    {"ticket": ticket},
		"an end that is no time": {"email": "x@acme.example", "expires": "soon"},
	} {
		t.Run(name, func(t *testing.T) { s.refused(t, b.post(t, "/admin/invitations", body), 400, "invalidArgument.body") })
	}
	t.Run("an end", func(t *testing.T) {
		at := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
		made := b.post(t, "/admin/invitations", value{"email": "hour@acme.example", "expires": at.Format(time.RFC3339)}).ok(t)
		if next(); made["expires"] != date(at) {
			t.Errorf("expires %v, want %s", made["expires"], date(at))
		}
		for _, at := range []time.Time{at.Add(-2 * time.Hour), at.AddDate(0, 0, 31)} {
			s.refused(t, b.post(t, "/admin/invitations", value{"email": "x@acme.example", "expires": at.Format(time.RFC3339)}), 400, "invalidArgument.option")
		}
	})
	t.Run("the request chooses neither address nor roles", func(t *testing.T) {
		ticket, _ := invite()
		body := value{"ticket": ticket, "password": "correct horse", "email": "boss@acme.example", "roles": []string{administrator}}
		s.refused(t, s.browser(t).post(t, "/accounts/accept", body), 400, "invalidArgument.body")
	})
	t.Run("by no administrator", func(t *testing.T) {
		mia := s.signedIn(t, s.AccountEmail, s.AccountPassword)
		open := items(t, b.get(t, "/admin/invitations").ok(t), false)[0].(value)["_id"].(string)
		for _, path := range []string{"/admin/invitations", "/admin/invitations/" + open + "/resend"} {
			body := value{"email": "x@acme.example"}
			if strings.HasSuffix(path, "resend") {
				body = nil
			}
			s.refused(t, mia.post(t, path, body), 403, "accessDenied.unspecified")
		}
		s.refused(t, mia.get(t, "/admin/invitations"), 403, "accessDenied.unspecified")
	})
	t.Run("R09 a repeated request mails once, and its reply has no ticket", func(t *testing.T) {
		c := call{method: "POST", path: "/admin/invitations", body: `{"email":"once@acme.example"}`, account: s.AdminAccountID}
		made, ticket := s.once(t, "invite", c), next()
		again := s.once(t, "invite", c)
		if again.text != made.text || again.header.Get("Idempotent-Replayed") != "true" || strings.Contains(again.text, ticket) {
			t.Errorf("%d %s", again.status, again.text)
		}
		if files, _ := filepath.Glob(filepath.Join(folder, "*.eml")); len(files) != mails {
			t.Errorf("%d mails, want %d", len(files), mails)
		}
	})
	t.Run("by an inviter who is none any more", func(t *testing.T) {
		ticket, _ := invite()
		s.do(t, call{method: "PATCH", path: "/admin/accounts/" + s.AccountID, account: s.AdminAccountID, body: `{"roles":["administrator"]}`}).ok(t)
		s.do(t, call{method: "PATCH", path: "/admin/accounts/" + s.AdminAccountID, account: s.AdminAccountID, body: `{"roles":["member"]}`}).ok(t)
		s.refused(t, accept(ticket), 401, "invalidArgument.locationToken")
	})
}

func TestAForgottenPasswordIsReset(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := start(t, "-mail-dir", folder)
	b := s.signedIn(t, s.AccountEmail, s.AccountPassword)
	forgot := func(email string) {
		t.Helper()
		if got := s.browser(t).post(t, "/accounts/forgot", value{"email": email}).ok(t); got["data"] != true {
			t.Errorf("forgot: %v", got)
		}
	}
	reset := func(ticket, password string) answer {
		return s.browser(t).post(t, "/accounts/reset", value{"ticket": ticket, "password": password})
	}
	forgot("nobody@acme.example")
	forgot(s.AccountEmail)
	ticket, to, link := mailAt(t, folder, 1)
	if to != s.AccountEmail || link != s.BaseURL+"/#acme/account?reset="+ticket {
		t.Errorf("mailed %q to %s", link, to)
	}
	s.refused(t, reset(ticket, "short"), 400, "invalidArgument.body")
	s.refused(t, reset(ticket[1:]+"A", "another password"), 401, "invalidArgument.locationToken")
	s.refused(t, s.browser(t).post(t, "/accounts/accept", value{"ticket": ticket, "password": "another password"}), 401, "invalidArgument.locationToken")
	resetting := s.browser(t)
	if got := resetting.post(t, "/accounts/reset", value{"ticket": ticket, "password": "another password"}).ok(t); got["_id"] != s.AccountID {
		t.Errorf("reset: %v", got)
	}
	s.refused(t, resetting.get(t, "/accounts/me"), 401, "accessDenied.noCredentialsSupplied")
	s.refused(t, reset(ticket, "a third password"), 401, "invalidArgument.locationToken")
	if got := b.get(t, "/accounts/me"); got.status != 401 {
		t.Errorf("an open session: %d", got.status)
	}
	s.refused(t, s.browser(t).post(t, "/accounts/login", value{"email": s.AccountEmail, "password": s.AccountPassword}), 401, "accessDenied.invalidCredentials")
	s.signedIn(t, s.AccountEmail, "another password")
}

func TestMailsAreInTheLogOfTheDemoOnly(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.signedIn(t, s.AdminEmail, s.AdminPassword).post(t, "/admin/invitations", value{"email": "new@acme.example"}).ok(t)
	link := regexp.MustCompile(`msg=mail to=new@acme\.example .*/#acme/account\?join=([\w-]{43})"?\n`).FindStringSubmatch(s.log.String())
	if link == nil {
		t.Fatalf("no link in %s", s.log)
	}
	s.browser(t).post(t, "/accounts/accept", value{"ticket": link[1], "password": "correct horse"}).ok(t)

	if _, err := (options{mailDir: os.Args[0]}).newMails("", nil); err == nil || !strings.Contains(err.Error(), "-mail-dir") {
		t.Errorf("a folder that is a file: %v", err)
	}
	p := parts(t, io.Discard) // as without the demo
	if err := p.mails.refused(); err == nil {
		t.Error("a server that sends no mail takes invitations")
	}
}

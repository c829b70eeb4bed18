package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
)

func TestDemoFacts(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "facts.json")
	// An existing file that all may read is replaced.
	if err := os.WriteFile(file, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	f := &facts{Org: "acme"}
	if err := f.Write(file); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var body map[string]string
	if err := json.Unmarshal(text, &body); err != nil {
		t.Fatal(err)
	}
	var names []string
	for name := range body {
		names = append(names, name)
	}
	slices.Sort(names)
	want := []string{
		"account_email", "account_id", "account_password", "admin_account_id", "admin_email", "admin_password", "admin_token", "api_key", "api_key_id", "base_url",
		"client_key", "client_secret", "ephemeral_token", "limited_token", "narrow_client_key", "narrow_client_secret", "narrow_token", "org", "other_account_id", "other_admin_email", "other_admin_password", "other_client_key",
		"other_client_secret", "other_org", "person_account_id", "person_email", "person_other_account_id", "person_password", "reader_account_id", "reader_email", "reader_password", "totp_account_email", "totp_account_id",
		"totp_account_password", "totp_secret", "v2_client_key", "v2_client_secret",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	left, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v %v", left, err)
	}
	if err := f.Write(filepath.Join(filepath.Dir(file), "no", "folder")); err == nil {
		t.Error("written into no folder")
	}
}

func TestSeedingTwice(t *testing.T) {
	t.Parallel()
	one, two := start(t), start(t)
	for name, secrets := range map[string][2]string{
		"client_key":          {one.ClientKey, two.ClientKey},
		"client_secret":       {one.ClientSecret, two.ClientSecret},
		"account_password":    {one.AccountPassword, two.AccountPassword},
		"other_client_secret": {one.OtherClientSecret, two.OtherClientSecret},
	} {
		if secrets[0] == secrets[1] || len(secrets[0]) < 20 {
			t.Errorf("%s is not random: %q", name, secrets)
		}
	}
	if one.AccountID != two.AccountID || one.AdminAccountID != two.AdminAccountID {
		t.Error("account ids differ")
	}
	const everything = "/c_messages?limit=1000&paths[]=c_text&paths[]=c_author&paths[]=c_likes&paths[]=c_sent&paths[]=c_pinned&paths[]=c_meta"
	if a, b := one.do(t, call{path: everything}), two.do(t, call{path: everything}); a.text != b.text {
		t.Error("objects differ")
	}
}

func TestDemoObjects(t *testing.T) {
	t.Parallel()
	s := startWhole(t)
	all := func(path string) []any {
		t.Helper()
		var all []any
		for skip := "0"; ; {
			body := s.do(t, call{path: path + "&limit=1000&skip=" + skip}).ok(t)
			all = append(all, body["data"].([]any)...)
			if body["hasMore"] != true {
				return all
			}
			skip = map[string]string{"0": "1000", "1000": "2000"}[skip]
		}
	}

	messages := all("/c_messages?paths[]=c_likes&paths[]=c_meta&paths[]=c_author")
	if len(messages) != 2500 {
		t.Errorf("%d messages", len(messages))
	}
	nulls, authors := 0, make(map[any]bool)
	for n, item := range messages {
		message := item.(value)
		if _, likes := message["c_likes"]; likes == (n%7 == 6) {
			t.Fatalf("message %d: %v", n, message)
		}
		if message["c_meta"].(value)["lang"] == nil {
			nulls++
		}
		authors[message["c_author"]] = true
	}
	if nulls == 0 || nulls == len(messages) || len(authors) != 3 {
		t.Errorf("%d without a language, authors %v", nulls, authors)
	}

	conversations := all("/c_conversations?paths[]=c_messages&c_messages.limit=1000")
	if len(conversations) != 40 {
		t.Errorf("%d conversations", len(conversations))
	}
	var sizes []int
	for _, item := range conversations {
		sizes = append(sizes, len(item.(value)["c_messages"].(value)["data"].([]any)))
	}
	if slices.Min(sizes) != 0 || slices.Max(sizes) != 250 {
		t.Errorf("conversations of %v", sizes)
	}
	if got := len(all("/connections?")); got != 60 {
		t.Errorf("%d connections", got)
	}
}

// tips returns what the server prints, which it does after it writes the facts and before it answers.
func (s *server) tips(t *testing.T) string {
	t.Helper()
	s.do(t, call{path: "/schemas"}).ok(t)
	return s.output.String()
}

// TestTips runs the printed commands as a user would.
func TestTips(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	s := start(t)
	var script strings.Builder
	for line := range strings.Lines(s.tips(t)) {
		if strings.HasPrefix(line, "  export ") || strings.HasPrefix(line, "  go run ") {
			script.WriteString(strings.ReplaceAll(line, "./examples/client", "../client"))
		}
	}
	out, err := exec.Command("sh", "-e", "-c", script.String()).CombinedOutput()
	for _, want := range []string{`"name": "Ada Admin"`, `"hasMore": true`, `"c_likes":49}`, `"c_text": "hello"`, `"name": "Mia Member"`, "curl -g ", `"service/scp": [`} {
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%v, want %s in\n%s", err, want, out)
		}
	}
}

func TestTippedCurl(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip(err)
	}
	s := start(t)
	_, line, _ := strings.Cut(s.tips(t), "  curl ")
	line, _, _ = strings.Cut(line, "\n\n")
	out, err := exec.Command("sh", "-c", "curl -sS "+line).Output()
	if err != nil {
		t.Fatalf("%v: curl %s", err, line)
	}
	var body value
	if err := json.Unmarshal(out, &body); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := items(t, body, true); len(got) != 3 || got[0].(value)["c_text"] == nil {
		t.Errorf("%s", out)
	}
}

func TestTheLogHoldsNoSecret(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.do(t, call{path: "/accounts/me?token=in-the-query"}).ok(t)
	s.do(t, call{method: "POST", path: "/c_messages", body: `{"c_text":"in-the-body","c_nope":1}`})
	s.bearing(t, s.AdminToken, "GET", "/apps", "").ok(t)
	s.bearing(t, s.NarrowToken, "GET", "/apps", "")
	s.bearing(t, s.NarrowToken+"x", "GET", "/apps", "")
	r := call{path: "/accounts/me", account: s.OtherAccountID}
	s.refused(t, s.do(t, r), 403, "accessDenied.principal")
	s.logged(t)
	for _, secret := range []string{s.ClientSecret, s.OtherClientSecret, s.AccountPassword, s.AdminToken, s.NarrowToken, "in-the-query", "in-the-body", "Client-Signature"} {
		if strings.Contains(s.log.String(), secret) {
			t.Errorf("%s is in the log:\n%s", secret, s.log)
		}
	}
	for _, known := range []string{"status=200", "status=400", "status=403", "org=acme", "fault=accessDenied.principal", "handler=true", s.AdminAccountID} {
		if !strings.Contains(s.log.String(), known) {
			t.Errorf("%s is not in the log:\n%s", known, s.log)
		}
	}
}

func TestSeedingThatFailed(t *testing.T) {
	t.Parallel()
	s, ctx := newStore(t), t.Context()
	o := options{db: memoryDB}
	all, err := openStores(ctx, s, o, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	p := &platform{store: s, stores: all}
	if _, err := s.objects.ExecContext(ctx, "ALTER TABLE platform_c_messages RENAME TO elsewhere"); err != nil {
		t.Fatal(err)
	}
	if _, err := p.seed(ctx, options{demoMessages: fewMessages}); err == nil {
		t.Error("seeded without a table of objects")
	}
	if keys, err := s.demoKeys(ctx); !auth.IsNotFound(err) {
		t.Errorf("seeded with %v, %v: the next start would leave it at that", keys, err)
	}
}

func TestTheKeyOfAnotherDatabase(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	o := options{db: sqliteDB + filepath.Join(folder, "platform.db")}
	open := func() (*stores, error) {
		s, err := openStore(t.Context(), o.db)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.close() })
		return openStores(t.Context(), s, o, slog.New(slog.DiscardHandler))
	}
	all, err := open()
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := all.credentials.Create(t.Context(), acme, signature.Credential{}); err != nil {
		t.Fatal(err)
	}
	if _, err := open(); err != nil {
		t.Errorf("with its key: %v", err)
	}
	if err := os.Remove(filepath.Join(folder, "platform.db.key")); err != nil {
		t.Fatal(err)
	}
	if _, err := open(); !errors.Is(err, sqlstore.ErrSealingKey) || !strings.Contains(err.Error(), "-sealing-key-file") {
		t.Errorf("with another key: %v", err)
	}
}

// If instances start at once with an empty file, one of them seeds it, and the
// others wait.
func TestInstancesStartAtOnce(t *testing.T) {
	t.Parallel()
	file := sqliteDB + filepath.Join(t.TempDir(), "platform.db")
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			o, err := parseFlags([]string{"-db", file, "-demo"}, io.Discard)
			if err != nil {
				t.Error(err)
				return
			}
			p, err := newPlatform(t.Context(), o, "http://127.0.0.1", o.newLog(io.Discard))
			if err != nil {
				t.Error(err)
				return
			}
			if err := errors.Join(p.startDemo(t.Context(), o, io.Discard), p.close()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func TestSessionFlagsOnASeededDatabase(t *testing.T) {
	t.Parallel()
	file := "sqlite:" + filepath.Join(t.TempDir(), "platform.db")
	for _, idle := range []time.Duration{time.Hour, time.Minute} {
		o, err := parseFlags([]string{"-db", file, "-demo", "-idle", idle.String()}, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		p, err := newPlatform(t.Context(), o, "http://127.0.0.1", o.newLog(io.Discard))
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.seed(t.Context(), o)
		org, unknown := p.store.Org(t.Context(), acme)
		if err := errors.Join(err, unknown, p.close()); err != nil {
			t.Fatal(err)
		}
		if org.Session.Idle != idle {
			t.Errorf("idle %v, want %v", org.Session.Idle, idle)
		}
	}
}

// TestSessionFlagsWithoutDemo checks the warning about ignored flags of the demo
// org. Otherwise a user may think that a second factor is required.
func TestSessionFlagsWithoutDemo(t *testing.T) {
	t.Parallel()
	log := new(buffer)
	o, err := parseFlags([]string{"-addr", "127.0.0.1:0", "-db", memoryDB, "-demo=false", "-require-second-factor"}, log)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- run(ctx, o, io.Discard, log) }()
	for range 6000 {
		if strings.Contains(log.String(), "listening") {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "change nothing without -demo") {
		t.Errorf("the log: %s", log)
	}
}

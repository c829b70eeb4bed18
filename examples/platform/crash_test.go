package main

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"modernc.org/sqlite"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/token"
)

// crash is the job of a process that is killed at a row that it writes.
type crash struct {
	File         string
	Facts        facts // none: it seeds the demo
	Method, Path string
	Body         string
	Row          int // the one at which it is killed, from 1
}

func (c crash) platform(t *testing.T) *platform {
	return parts(t, io.Discard, "-db", sqliteDB+c.File)
}

// TestCrashProcess is the process of TestACrashLeavesBothOrNeither.
func TestCrashProcess(t *testing.T) {
	text := os.Getenv("PLATFORM_CRASH")
	if text == "" {
		t.Skip("not a process that is killed")
	}
	var c crash
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	rows := 0
	sqlite.MustRegisterScalarFunction("dies", 0, func(*sqlite.FunctionContext, []driver.Value) (driver.Value, error) {
		if rows++; rows == c.Row {
			self, _ := os.FindProcess(os.Getpid())
			_ = self.Kill()
			select {}
		}
		return nil, nil
	})
	p := c.platform(t)
	// One connection beside the one that lives on. It has the triggers, and a transaction that
	// needs another one fails.
	p.store.db.SetMaxOpenConns(2)
	tables, err := p.store.db.QueryContext(t.Context(), `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'platform\_c%' ESCAPE '\' AND name NOT LIKE 'sqlite%'`)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for tables.Next() {
		var name string
		if err := tables.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	tables.Close()
	for _, name := range names {
		for _, verb := range []string{"INSERT", "UPDATE", "DELETE"} {
			trigger := fmt.Sprintf("CREATE TEMP TRIGGER %s_%s AFTER %s ON main.%s BEGIN SELECT dies(); END", name, verb, verb, name)
			if _, err := p.store.db.ExecContext(t.Context(), trigger); err != nil {
				t.Fatal(err)
			}
		}
	}
	if c.Method == "" {
		if _, err := p.fill(t.Context(), options{demoMessages: 1}); err != nil {
			t.Fatal(err)
		}
	} else {
		r := httptest.NewRequest(c.Method, "http://127.0.0.1/acme/v2"+c.Path, strings.NewReader(c.Body))
		r.Header.Set("Content-Type", "application/json")
		(&server{brand: "Service-"}).sign(r, c.Path, c.Facts.ClientKey, c.Facts.ClientSecret)
		w := httptest.NewRecorder()
		p.handler(p.routes()).ServeHTTP(w, r)
		if w.Code != 200 {
			t.Fatal(w.Body)
		}
	}
}

// TestACrashLeavesBothOrNeither kills a server at each row that a request writes. What the platform
// keeps of an app or an account and what the library keeps of it change together.
func TestACrashLeavesBothOrNeither(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many processes")
	}
	folder := t.TempDir()
	seeded := crash{File: filepath.Join(folder, "seeded.db")}
	p := seeded.platform(t)
	f, err := p.seed(t.Context(), options{demoMessages: 1})
	if err == nil {
		err = p.newFactor(t.Context(), mia, new(string))
	}
	if err == nil {
		err = p.stores.sessions.Create(t.Context(), session.Session{Org: acme, Account: mia.ID, ID: "one", Created: time.Now(), Authenticated: time.Now(),
			Seen: time.Now(), Expires: time.Now().Add(time.Hour)}, 0)
	}
	if err == nil {
		_, err = p.store.db.ExecContext(t.Context(), "PRAGMA wal_checkpoint(TRUNCATE)")
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name  string
		crash crash
		parts func(*testing.T, *platform) []bool // either all are true, or none is
	}{
		{"an app is made with its credential", crash{Method: "POST", Path: "/apps", Body: `{"name":"a"}`}, func(t *testing.T, p *platform) []bool {
			return []bool{countApps(t, p) == 4, countCredentials(t, p) == 4}
		}},
		{"an app is disabled and narrowed, and its key hidden", crash{Method: "PATCH", Path: "/apps/" + f.ClientKey,
			Body: `{"disabled":true,"credential":{"networks":["192.0.2.0/24"]}}`}, func(t *testing.T, p *platform) []bool {
			a, err := p.store.app(t.Context(), acme, f.ClientKey)
			c, missing := p.stores.credentials.Credential(t.Context(), f.ClientKey)
			exposed, failed := p.stores.keys.Exposed(t.Context(), acme)
			if err != nil || missing != nil || failed != nil {
				t.Fatal(err, missing, failed)
			}
			return []bool{a.Disabled, c.Networks != nil, len(exposed) == 0}
		}},
		{"an app is deleted with its credential and its key pair", crash{Method: "DELETE", Path: "/apps/" + f.NarrowClientKey}, func(t *testing.T, p *platform) []bool {
			kids, err := p.stores.verifying(t.Context(), f.NarrowClientKey)
			if err != nil {
				t.Fatal(err)
			}
			return []bool{countApps(t, p) == 2, countCredentials(t, p) == 2, len(kids) == 0}
		}},
		{"an account is disabled with its sessions, tokens and second factor", crash{Method: "PATCH", Path: "/admin/accounts/" + mia.ID,
			Body: `{"disabled":true,"resetSecondFactor":true}`}, func(t *testing.T, p *platform) []bool {
			a, err := p.store.account(t.Context(), acme, mia.ID)
			open, listErr := p.stores.sessions.List(t.Context(), acme, mia.ID)
			factor, factorErr := p.stores.factors.Factor(t.Context(), acme, mia.ID)
			tokens := 0
			for range token.Records(t.Context(), p.stores.ledger, token.Holder{Org: acme, ClientKey: f.ClientKey, Subject: mia.ID}) {
				tokens++
			}
			if err != nil || listErr != nil || factorErr != nil {
				t.Fatal(err, listErr, factorErr)
			}
			return []bool{a.Disabled, len(open) == 0, len(factor.Secret.Reveal()) == 0, tokens == 0}
		}},
		{"the demo is seeded with its credentials and key pairs", crash{}, func(t *testing.T, p *platform) []bool {
			keys, err := p.store.demoKeys(t.Context())
			_, noOrg := p.store.Org(t.Context(), globex)
			exposed, failed := p.stores.keys.Exposed(t.Context(), acme)
			if err != nil || failed != nil {
				t.Fatal(err, failed)
			}
			return []bool{len(keys) == len(demoApps), !auth.IsNotFound(noOrg), len(exposed) == 1, countApps(t, p) == 3, countCredentials(t, p) == 3}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			step := 1
			if test.crash.Method == "" {
				step = 5 // each process makes key pairs
			}
			for row, ended := 1, false; !ended; row += step {
				c := test.crash
				c.Facts, c.Row, c.File = *f, row, filepath.Join(t.TempDir(), "platform.db")
				if c.Method != "" {
					copyFile(t, seeded.File, c.File)
				}
				copyFile(t, seeded.File+".key", c.File+".key")
				ended = c.run(t)
				done := test.parts(t, c.platform(t))
				if slices.Contains(done, true) && slices.Contains(done, false) || slices.Contains(done, true) != ended {
					t.Errorf("killed at row %d, ended %v: %v", row, ended, done)
				}
				if ended && row < 3 {
					t.Errorf("only %d rows were written", row-1)
				}
			}
		})
	}
}

// run runs the process, and reports whether it ended by itself.
func (c crash) run(t *testing.T) bool {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestCrashProcess$", "-test.timeout=30s")
	child.Env = append(os.Environ(), "PLATFORM_CRASH="+string(text))
	out, err := child.CombinedOutput()
	if err != nil && child.ProcessState.Exited() { // and not by a signal
		t.Fatalf("%v: %s", err, out)
	}
	return err == nil
}

func countApps(t *testing.T, p *platform) int {
	t.Helper()
	all, err := p.store.listApps(t.Context(), acme)
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

func countCredentials(t *testing.T, p *platform) int {
	t.Helper()
	all, err := p.stores.credentials.List(t.Context(), acme, "", 10)
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

// TestDemoCommand prints fresh credentials while a server runs on the database, which
// accepts them.
func TestDemoCommand(t *testing.T) {
	t.Parallel()
	db := sqliteDB + filepath.Join(t.TempDir(), "platform.db")
	s := start(t, "-db", db, "-idle", "7m")
	file := filepath.Join(t.TempDir(), "fresh.json")
	o, err := parseFlags([]string{"demo", "-db", db, "-base-url", s.BaseURL, "-demo-json", file}, io.Discard)
	if err != nil || !o.demoOnly {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := printDemo(t.Context(), o, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var fresh facts
	if err := json.Unmarshal(text, &fresh); err != nil {
		t.Fatal(err)
	}
	if fresh.ClientKey != s.ClientKey || fresh.ClientSecret == s.ClientSecret || fresh.AdminPassword == s.AdminPassword {
		t.Error("the app is another one, or a secret is the same")
	}
	for _, want := range []string{fresh.ClientSecret, fresh.AdminPassword, s.BaseURL} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s is not printed", want)
		}
	}
	time.Sleep(directoryStale + 100*time.Millisecond)
	s.facts = fresh
	s.do(t, call{path: "/accounts/me"}).ok(t)
	s.bearing(t, fresh.AdminToken, "GET", "/apps", "").ok(t)
	settings := s.bearing(t, fresh.AdminToken, "GET", "/admin/settings", "").ok(t)
	if got := settings["idle"]; got != 420.0 {
		t.Errorf("the session settings have changed: %v", settings)
	}
}

func TestDemoCommandRefusals(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	run := func(db string) error {
		o, err := parseFlags([]string{"demo", "-db", db}, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		return printDemo(t.Context(), o, io.Discard, io.Discard)
	}
	if err := run(memoryDB); !errors.Is(err, errForgets) {
		t.Errorf("memory: %v", err)
	}
	if err := run(sqliteDB + filepath.Join(folder, "none.db")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 0 {
		t.Errorf("it made %v, %v", left, err)
	}
	t.Run("a database of somebody else's orgs", func(t *testing.T) {
		db := sqliteDB + filepath.Join(folder, "own.db")
		p := parts(t, io.Discard, "-db", db)
		if err := putOrg(t.Context(), p.store.db, auth.Org{Code: "own"}); err != nil {
			t.Fatal(err)
		}
		if err := run(db); !errors.Is(err, errNotSeeded) {
			t.Errorf("%v", err)
		}
		if _, err := p.store.Org(t.Context(), acme); err == nil {
			t.Error("it has seeded an org")
		}
	})
}

func TestLogLevels(t *testing.T) {
	t.Parallel()
	for level, want := range map[string]int{"debug": 4, "info": 3, "warn": 2, "error": 1} {
		o, err := parseFlags([]string{"-log-level", level}, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		log := o.newLog(&out)
		log.Debug("d")
		log.Info("i")
		log.Warn("w")
		log.Error("e")
		if got := strings.Count(out.String(), "\n"); got != want {
			t.Errorf("%s: %d lines, want %d", level, got, want)
		}
	}
}

// TestLogOfMilliseconds reads what -log json writes of a duration: a number with its unit
// in the name. The text has the unit in the value.
func TestLogOfMilliseconds(t *testing.T) {
	t.Parallel()
	o := options{log: "json"}
	var out bytes.Buffer
	o.newLog(&out).Info("request", "took", 1500*time.Microsecond, "status", 200)
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	if line["took_ms"] != 1.5 || line["took"] != nil || line["status"] != 200.0 {
		t.Errorf("%s", out.String())
	}
	out.Reset()
	o.log = "text"
	o.newLog(&out).Info("request", "took", 1500*time.Microsecond)
	if !strings.Contains(out.String(), "took=1.5ms") {
		t.Errorf("%s", out.String())
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-help"}, {"--help"}, {"-h"}, {"demo", "-help"}} {
		var stderr bytes.Buffer
		o, err := parseFlags(args, &stderr)
		if !errors.Is(err, flag.ErrHelp) || !strings.HasPrefix(o.help, help) || !strings.Contains(o.help, "-log-level level") || stderr.Len() > 0 {
			t.Errorf("%v: %v\n%s\n%s", args, err, o.help, &stderr)
		}
	}
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth/audit"
)

// events returns what the list of the audit log answers.
func (s *server) events(t *testing.T, arguments ...string) (events []value, more bool) {
	t.Helper()
	query := url.Values{}
	for i := 0; i+1 < len(arguments); i += 2 {
		query.Add(arguments[i], arguments[i+1])
	}
	body := s.do(t, call{path: "/audit?" + query.Encode()}).ok(t)
	for _, e := range body["data"].([]any) {
		events = append(events, e.(value))
	}
	return events, body["hasMore"] == true
}

func TestAuditLog(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"memory": nil, "SQLite": {"-db", sqliteDB + filepath.Join(t.TempDir(), "a.db")}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, args...)
			made := s.as(t, "", "POST", "/admin/accounts", `{"email":"new@acme.example","password":"a long password"}`).ok(t)
			b := s.signedIn(t, "new@acme.example", "a long password")
			s.as(t, "", "POST", "/admin/accounts/"+made["_id"].(string)+"/deactivate", "").ok(t)
			_ = b

			events, _ := s.events(t)
			var verbs []string
			for i, e := range events {
				if i > 0 && e["n"].(float64) != events[i-1]["n"].(float64)-1 {
					t.Errorf("%v comes after %v", e["n"], events[i-1]["n"])
				}
				for _, member := range []string{"_id", "object", "n", "time", "verb", "hash"} {
					if e[member] == nil {
						t.Errorf("%s is missing: %v", member, e)
					}
				}
				verbs = append(verbs, e["verb"].(string))
			}
			if got := strings.Join(verbs, " "); !strings.HasPrefix(got, "session.ended account.changed session.opened account.made ") {
				t.Errorf("%s", got)
			}
			e := events[3]
			if e["object"] != "event" || e["account"] != made["_id"] || e["actor"] == nil || e["mail"] != "new@acme.example" || e["address"] != "127.0.0.1" ||
				e["agent"] == nil || e["route"] != "POST /admin/accounts" || e["request"] == nil || !strings.HasPrefix(e["by"].(string), "app:") {
				t.Errorf("%v", e)
			}

			old, _ := s.events(t, "sort", `{"n":1}`, "limit", "2", "paths[]", "n")
			if len(old) != 2 || old[0]["n"] != 1.0 || old[0]["verb"] != nil {
				t.Errorf("%v", old)
			}
			some, more := s.events(t, "where", `{"verb":{"$in":["account.made","account.changed"]},"account":"`+made["_id"].(string)+`"}`, "limit", "1", "skip", "1")
			if len(some) != 1 || some[0]["verb"] != "account.made" || more {
				t.Errorf("%v %v", some, more)
			}
			next, _ := s.events(t, "where", `{"$and":[{"n":{"$lt":4}}]}`)
			if len(next) != 3 {
				t.Errorf("%v", next)
			}
			head := s.do(t, call{path: "/audit/head"}).ok(t)["data"].(value)
			if head["count"] != events[0]["n"] || head["hash"] != events[0]["hash"] || head["time"] != events[0]["time"] {
				t.Errorf("%v, want that of %v", head, events[0])
			}
			s.expectChain(t)
			s.refused(t, s.do(t, call{path: "/audit?where=x"}), 400, "invalidArgument.query")
			for _, path := range []string{"/audit", "/audit/head"} {
				s.refused(t, s.do(t, call{path: path, unsigned: true}), 401, "accessDenied.noCredentialsSupplied")
				s.refused(t, s.do(t, call{path: path, account: s.AccountID}), 403, "accessDenied.unspecified")
			}
			if own, _ := s.events(t, "where", `{"account":"`+s.OtherAccountID+`"}`); len(own) != 0 {
				t.Errorf("another org's: %v", own)
			}
		})
	}
}

// expectChain verifies what the list shows, as a client does.
func (s *server) expectChain(t *testing.T) {
	t.Helper()
	body := s.do(t, call{path: `/audit?limit=1000&sort={"n":1}`}).ok(t)
	v := audit.Verifier{After: audit.Head{Org: "acme"}}
	var e audit.Entry
	for _, item := range body["data"].([]any) {
		e = audit.Entry{}
		if err := json.Unmarshal([]byte(asJSON(item)), &e); err != nil {
			t.Fatal(err)
		}
		if err := v.Add(&e); err != nil {
			t.Error(err)
		}
	}
	if err := v.End(audit.Head{Org: "acme", Count: e.N, Hash: e.Hash, Time: e.Time}); err != nil {
		t.Error(err)
	}
}

func TestWithoutAnAuditLog(t *testing.T) {
	t.Parallel()
	s := start(t, "-audit=false")
	s.refused(t, s.do(t, call{path: "/audit"}), 404, "notFound.unspecified")
	s.refused(t, s.do(t, call{path: "/audit/head"}), 404, "notFound.unspecified")
	if _, err := parseFlags([]string{"-audit=false", "-audit-checkpoint", "x"}, new(bytes.Buffer)); err == nil {
		t.Error("a checkpoint of no log")
	}
}

// TestCheckpoints ends a server, which writes a line for each org.
func TestCheckpoints(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file, db, facts := filepath.Join(folder, "lines"), filepath.Join(folder, "a.db"), filepath.Join(folder, "facts.json")
	var keys []string
	for range 2 {
		log := new(buffer)
		o, err := parseFlags([]string{"-addr", "127.0.0.1:0", "-db", sqliteDB + db, "-demo-json", facts, "-audit-checkpoint", file}, log)
		if err != nil {
			t.Fatal(err)
		}
		o.storeTimeout, o.demoMessages = patience, fewMessages
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- run(ctx, o, log, log) }()
		(&server{log: log}).await(t, facts)
		time.Sleep(50 * time.Millisecond)
		stop()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(facts); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int64{}
	for line := range strings.Lines(string(text)) {
		head, key, err := audit.ReadCheckpoint(line)
		if err != nil || head.Count < counts[string(head.Org)] {
			t.Errorf("%q: %v", line, err)
		}
		counts[string(head.Org)] = head.Count
		keys = append(keys, string(key))
	}
	if len(keys) != 4 || keys[0] != keys[3] || counts["acme"] == 0 || counts["globex"] == 0 {
		t.Errorf("%d lines, %v", len(keys), counts)
	}
	for _, name := range []string{file, db + ".key.audit"} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, info, err)
		}
	}
}

// A list that is asked for again prepares no statement again. A statement that nobody closes stays with the database.
func TestTheAuditLogKeepsNoStatementForEachRequest(t *testing.T) {
	t.Parallel()
	s, p := inside(t)
	kept := func() int { return reflect.ValueOf(p.store.db).Elem().FieldByName("dep").Len() } // connections and statements
	s.events(t)
	first := kept()
	for range 5 {
		s.events(t)
	}
	if got := kept(); got > first {
		t.Errorf("%d kept after 5 more requests, %d before them", got, first)
	}
}

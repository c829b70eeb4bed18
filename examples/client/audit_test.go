package main

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/audit"
)

// auditServer has a log, whose list it answers in the order of the sort.
type auditServer struct {
	entries []audit.Entry
	head    audit.Head
}

func newAuditServer(n int) *auditServer {
	s := &auditServer{head: audit.Head{Org: "acme"}}
	for i := range n {
		e := audit.Entry{Event: auth.Event{Verb: "token.made", Token: fmt.Sprint("t", i), Time: time.Now(), Agent: "agent", Address: netip.MustParseAddr("192.0.2.1")}}
		s.add(e)
	}
	return s
}

func (s *auditServer) add(e audit.Entry) {
	s.head = s.head.Append(&e)
	s.entries = append(s.entries, e)
}

func (s *auditServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/acme/v2/audit/head" {
		fmt.Fprintf(w, `{"object":"result","data":{"count":%d,"hash":%q,"time":%q}}`, s.head.Count, s.head.Hash, s.head.Time.Format("2006-01-02T15:04:05.000Z"))
		return
	}
	var items []string
	for _, e := range s.entries {
		line, _ := json.Marshal(e)
		sealed := strings.Contains(r.URL.Query().Get("where"), "audit.sealed")
		if sealed == (e.Verb == "audit.sealed") || !sealed {
			items = append(items, fmt.Sprintf(`{"_id":"%d","object":"event",%s`, e.N, line[1:]))
		}
	}
	if strings.Contains(r.URL.Query().Get("sort"), "-1") {
		slices.Reverse(items)
	}
	if r.URL.Query().Get("limit") == "1" {
		items = items[:min(1, len(items))]
	}
	io.WriteString(w, `{"object":"list","data":[`+strings.Join(items, ",")+`],"hasMore":false}`)
}

func TestAudit(t *testing.T) {
	public, private, _ := ed25519.GenerateKey(nil)
	_, other, _ := ed25519.GenerateKey(nil)
	trusted := base64.RawURLEncoding.EncodeToString(public)
	for _, test := range []struct {
		name  string
		alter func(*auditServer)
		lines func(before audit.Head) string // of the checkpoint file
		args  []string
		want  string // of the error or the output
	}{
		{"it holds", nil, nil, nil, "5 rows hold, up to row 5\n"},
		{"with a checkpoint", func(s *auditServer) { s.add(audit.Entry{Event: auth.Event{Verb: "token.spent"}}) },
			func(h audit.Head) string { return h.Sign(private) + "\n" }, []string{"--checkpoint-key", trusted}, "6 rows hold, up to row 6\n"},
		{"one was changed", func(s *auditServer) { s.entries[2].Token = "x" }, nil, nil, "row 3: it was changed"},
		{"one was cut", func(s *auditServer) { s.entries = slices.Delete(s.entries, 1, 2) }, nil, nil, "row 2: it is missing"},
		{"the end was cut", func(s *auditServer) {
			*s = auditServer{s.entries[:3], audit.Head{Org: "acme", Count: 3, Hash: s.entries[2].Hash, Time: s.entries[2].Time}}
		},
			func(h audit.Head) string { return h.Sign(private) + "\n" }, nil, "row 4: it is missing: the checkpoint counts 5"},
		{"a new chain", func(s *auditServer) { *s = *newAuditServer(7) }, func(h audit.Head) string { return h.Sign(private) + "\n" }, nil, "row 5: its hash is not that of the checkpoint"},
		{"the newest line counts", nil, func(h audit.Head) string {
			return audit.Head{Org: "acme", Count: 99}.Sign(private) + "\n" + h.Sign(private) + "\n" + audit.Head{Org: "globex", Count: 100}.Sign(private) + "\n"
		}, nil, "5 rows hold"},
		{"the last line is cut", nil, func(h audit.Head) string { return h.Sign(private) + "\n" + h.Sign(private)[:50] }, nil, "5 rows hold"},
		{"a line was changed", nil, func(h audit.Head) string { return strings.Replace(h.Sign(private), " 5 ", " 4 ", 1) + "\n" }, nil, "line 1: audit: the line is not a signed checkpoint"},
		{"another key", nil, func(h audit.Head) string { return h.Sign(other) + "\n" }, []string{"--checkpoint-key", trusted}, "another key has signed it"},
		{"of no org", nil, func(audit.Head) string { return "" }, nil, `no checkpoint of "acme"`},
		{"sealed", func(s *auditServer) {
			at := audit.Head{Org: "acme", Count: 3, Hash: s.entries[2].Hash}
			s.add(at.Seal(3))
			s.entries = s.entries[3:]
		}, func(h audit.Head) string { return h.Sign(private) + "\n" }, nil, "3 rows hold, up to row 6\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			log := newAuditServer(5)
			server := httptest.NewServer(log)
			defer server.Close()
			args := append([]string{"audit", "verify"}, test.args...)
			if test.lines != nil {
				file := filepath.Join(t.TempDir(), "lines")
				if err := os.WriteFile(file, []byte(test.lines(log.head)), 0o600); err != nil {
					t.Fatal(err)
				}
				args = append(args, "--checkpoint", file)
			}
			if test.alter != nil {
				test.alter(log)
			}
			out, _, err := client(t, "", environment(server.URL), args...)
			got := out
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, test.want) || (err == nil) != strings.Contains(test.want, "hold") || err != nil && (cli{errs: io.Discard}).status(err) != 1 {
				t.Errorf("%q, %v, want %q", out, err, test.want)
			}
		})
	}
	server := httptest.NewServer(newAuditServer(3))
	defer server.Close()
	if out, _, err := client(t, "", environment(server.URL), "audit", "export"); err != nil || strings.Count(out, "\n") != 3 || strings.Count(out, `"class_uid":3004`) != 3 {
		t.Errorf("%v %s", err, out)
	}
	if out, _, err := client(t, "", environment(server.URL), "audit", "list"); err != nil || !strings.HasPrefix(out, `{"_id":"3"`) {
		t.Errorf("%v %s", err, out)
	}
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// once sends a request with an Idempotency-Key.
func (s *server) once(t *testing.T, key string, c call) answer {
	t.Helper()
	r, err := http.NewRequest(c.method, s.BaseURL+"/"+s.Org+"/v2"+c.path, strings.NewReader(c.body))
	if err != nil {
		t.Fatal(err)
	}
	if c.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Idempotency-Key", key)
	command, _, _ := strings.Cut(c.path, "?")
	s.sign(r, command, s.ClientKey, s.ClientSecret)
	if c.account != "" {
		r.Header.Set(s.brand+"Client-Account", c.account)
	}
	return send(t, r)
}

func TestRepeatedRequests(t *testing.T) {
	t.Parallel()
	s := start(t)
	create := call{method: "POST", path: "/c_messages", body: `{"c_text":"only once"}`}
	first, again := s.once(t, "key", create), s.once(t, "key", create)
	if first.status != 200 || again.status != 200 || again.text != first.text || again.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("first %d %s, again %d %s", first.status, first.text, again.status, again.text)
	}
	if n := len(s.do(t, call{path: "/c_messages?where=" + `%7B%22c_text%22:%22only%20once%22%7D`}).ok(t)["data"].([]any)); n != 1 {
		t.Errorf("%d messages", n)
	}
	id := first.ok(t)["_id"].(string)
	patch := call{method: "PATCH", path: "/c_messages/" + id, body: `{"c_text":"changed"}`}
	s.once(t, "patch", patch)
	s.do(t, call{method: "PATCH", path: "/c_messages/" + id, body: `{"c_text":"changed by another"}`}).ok(t)
	if again := s.once(t, "patch", patch); !strings.Contains(again.text, `"changed"`) {
		t.Errorf("the repetition of a change: %d %s", again.status, again.text)
	}
	if now := s.do(t, call{path: "/c_messages/" + id}); !strings.Contains(now.text, "changed by another") {
		t.Errorf("it was executed: %s", now.text)
	}
	s.refused(t, s.once(t, "key", call{method: "POST", path: "/c_messages", body: `{"c_text":"another"}`}), 422, "invalidArgument.idempotencyKey")
	s.refused(t, s.once(t, "two words", create), 400, "invalidArgument.idempotencyHeader")

	wrong := call{method: "POST", path: "/c_messages", body: `{"c_unknown":1}`}
	s.refused(t, s.once(t, "corrected", wrong), 400, "invalidArgument.body")
	if res := s.once(t, "corrected", create); res.status != 200 || res.header.Get("Idempotent-Replayed") != "" {
		t.Errorf("after a refusal: %d %s", res.status, res.text)
	}
}

// TestR09ResponsesWithASecret repeats each request whose response shows a secret, and looks for the secret
// in the database.
func TestR09ResponsesWithASecret(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "platform.db")
	s := start(t, "-db", sqliteDB+file)
	var secrets []string
	for i, c := range []call{
		{method: "POST", path: "/apps", body: `{"name":"new"}`},
		{method: "POST", path: "/apps/" + s.ClientKey + "/tokens", body: `{"sub":"` + s.AccountID + `","scope":["object.read.c_message"]}`},
		{method: "POST", path: "/apps/" + s.ClientKey + "/keys", body: `{"name":"new","scope":["object.read.c_message"]}`},
		{method: "POST", path: "/apps/" + s.ClientKey + "/secret", body: `{"grace":86400}`},
	} {
		key := fmt.Sprint("secret-", i)
		first := s.once(t, key, c)
		var shown struct {
			Secret, Key string
			Data        struct{ Secret, Token, Key string }
		}
		if err := json.Unmarshal([]byte(first.text), &shown); err != nil || first.status != 200 {
			t.Fatalf("%s: %d %s", c.path, first.status, first.text)
		}
		secret := shown.Secret + shown.Key + shown.Data.Secret + shown.Data.Token + shown.Data.Key
		if secret == "" {
			t.Fatalf("%s shows no secret: %s", c.path, first.text)
		}
		secrets = append(secrets, secret)
		again := s.once(t, key, c)
		if again.status != 409 || !strings.Contains(again.text, "conflict.idempotencyReply") || strings.Contains(again.text, secret) || again.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("%s again: %v %s", c.path, again.header, again.text)
		}
		if c.path == "/apps" && again.header.Get("Location") != s.BaseURL+"/"+s.Org+"/v2/apps/"+first.ok(t)["_id"].(string) {
			t.Errorf("Location %q", again.header.Get("Location"))
		}
	}
	p := parts(t, io.Discard, "-db", sqliteDB+file)
	rows, err := p.store.db.QueryContext(t.Context(), `SELECT sealed FROM tenantkit_v9_repeats`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	n := 0
	for ; rows.Next(); n++ {
		var sealed []byte
		if err := rows.Scan(&sealed); err != nil {
			t.Fatal(err)
		}
		for _, secret := range secrets {
			if bytes.Contains(sealed, []byte(secret)) || bytes.Contains(sealed, []byte(secret[:8])) {
				t.Error("a secret is in the clear")
			}
		}
	}
	if n != len(secrets) {
		t.Errorf("%d rows", n)
	}
}

// TestRoutesWithAKey says of each route what is kept of its responses.
func TestRoutesWithAKey(t *testing.T) {
	t.Parallel()
	p := parts(t, io.Discard)
	whole, reference := 0, 0
	for _, r := range p.routes().Routes() {
		method, _, _ := strings.Cut(r.Pattern, " ")
		changes := method == "POST" || method == "PATCH"
		switch takes := takesKey(r.Pattern, r.Need); {
		case takes != (changes && !r.Need.Describe().Public):
			t.Errorf("%s takes a key: %v", r.Pattern, takes)
		case takes && keepsWhole(r.Pattern):
			whole++
		case takes:
			reference++
		}
	}
	if keepsWhole("POST /admin/accounts/{id}/new") {
		t.Error("a new route keeps what it shows")
	}
	if whole < 10 || reference < 10 {
		t.Errorf("%d and %d routes", whole, reference)
	}
}

// losing loses the first responses, after the server has sent them.
type losing struct {
	responses int
	keys      []string
}

func (l *losing) RoundTrip(r *http.Request) (*http.Response, error) {
	l.keys = append(l.keys, r.Header.Get("Idempotency-Key"))
	res, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && l.responses > 0 {
		l.responses--
		io.Copy(io.Discard, res.Body)
		res.Body.Close()
		return nil, io.ErrUnexpectedEOF
	}
	return res, err
}

// TestTransportsRepeatSafely loses two responses to each of our clients.
func TestTransportsRepeatSafely(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.ready(t) // a response that is lost must not be the 401 of a server that began in the same second
	at := s.BaseURL + "/" + s.Org + "/v2"
	source := func(context.Context) (token.Token, error) { return token.Token(s.EphemeralToken), nil }
	for name, of := range map[string]func(http.RoundTripper) http.RoundTripper{
		"version 1": func(base http.RoundTripper) http.RoundTripper {
			return &signing.Transport{BaseURL: at, ClientKey: s.ClientKey, Secret: signing.Secret(s.ClientSecret), Repeat: true, Base: base}
		},
		"version 2": func(base http.RoundTripper) http.RoundTripper {
			return &signing.Transport{BaseURL: at, ClientKey: s.ClientKey, Secret: signing.Secret(s.ClientSecret), Version: 2, Repeat: true, Base: base}
		},
		"token": func(base http.RoundTripper) http.RoundTripper {
			return &token.Transport{BaseURL: at, Source: source, Repeat: true, Base: base}
		},
	} {
		base := &losing{responses: 2}
		res, err := (&http.Client{Transport: of(base)}).Post(at+"/c_messages", "application/json", strings.NewReader(`{"c_text":"`+name+`"}`))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		res.Body.Close()
		if res.StatusCode != 200 || res.Header.Get("Idempotent-Replayed") != "true" || len(base.keys) != 3 || base.keys[0] == "" || base.keys[2] != base.keys[0] {
			t.Errorf("%s: %d %v, keys %q", name, res.StatusCode, res.Header, base.keys)
		}
		where := url.QueryEscape(`{"c_text":"` + name + `"}`)
		if n := len(s.do(t, call{path: "/c_messages?where=" + where}).ok(t)["data"].([]any)); n != 1 {
			t.Errorf("%s: %d messages", name, n)
		}
	}
}

package recovery_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/examples/guides/recovery"
)

func newServer(t *testing.T) (*httptest.Server, *bytes.Buffer) {
	t.Helper()
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	guard := &auth.Guard{
		Roles:      auth.RolesLimit,
		BaseURL:    "https://api.example.com",
		Directory:  directory,
		Mechanisms: []auth.Mechanism{authtest.As(auth.Principal{Account: "ann"})},
		Brand:      auth.Brand{Faults: "acme"},
	}
	mux := guard.Mux()
	mux.HandleFunc("GET /early", auth.Authenticated, func(http.ResponseWriter, *http.Request) { panic("secret cause") })
	mux.HandleFunc("GET /late", auth.Authenticated, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "half of it")
		http.NewResponseController(w).Flush()
		panic("secret cause")
	})
	mux.HandleFunc("GET /flushed", auth.Authenticated, func(w http.ResponseWriter, r *http.Request) {
		http.NewResponseController(w).Flush()
		panic("secret cause")
	})
	mux.HandleFunc("GET /aborted", auth.Authenticated, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	mux.HandleFunc("GET /fine", auth.Authenticated, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, recovery.ID(r.Context()))
	})
	var log bytes.Buffer
	server := httptest.NewUnstartedServer(recovery.RequestID(recovery.Recover(guard, slog.New(slog.NewTextHandler(&log, nil)), mux)))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.Start()
	t.Cleanup(server.Close)
	return server, &log
}

func TestPanicIsAFault(t *testing.T) {
	server, log := newServer(t)
	reply, err := http.Get(server.URL + "/acme/v2/early")
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	if reply.StatusCode != 500 || !strings.Contains(string(body), `"errCode":"acme.error.unspecified"`) || strings.Contains(string(body), "secret") {
		t.Errorf("%d %s", reply.StatusCode, body)
	}
	id := reply.Header.Get("Request-Id")
	if id == "" || !strings.Contains(log.String(), id) || !strings.Contains(log.String(), "secret cause") {
		t.Errorf("id %q, log %s", id, log)
	}
}

func TestHalfAReplyIsCutOff(t *testing.T) {
	server, _ := newServer(t)
	for _, path := range []string{"/late", "/flushed", "/aborted"} {
		reply, err := http.Get(server.URL + "/acme/v2" + path)
		if err == nil {
			_, err = io.ReadAll(reply.Body)
			reply.Body.Close()
		}
		if err == nil {
			t.Errorf("%s: a whole reply", path)
		}
	}
}

func TestRequestID(t *testing.T) {
	server, _ := newServer(t)
	r, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+"/acme/v2/fine", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Request-Id", "mine")
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	if id := reply.Header.Get("Request-Id"); id == "" || id == "mine" || id != string(body) {
		t.Errorf("header %q, context %q", id, body)
	}
}

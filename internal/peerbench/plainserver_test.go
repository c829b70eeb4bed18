package main

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"
)

// TestPlainServer is the plain server if startPlain has started this program. Its
// parent kills it.
func TestPlainServer(t *testing.T) {
	file := os.Getenv(plainFile)
	if file == "" {
		t.Skip("started by the test of servers")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address, err := json.Marshal("http://" + listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	part := filepath.Join(filepath.Dir(file), "part")
	if err := os.WriteFile(part, address, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(part, file); err != nil {
		t.Fatal(err)
	}
	t.Fatal(http.Serve(listener, newPlainServer().routes()))
}

// TestPlainServerAnswers checks the replies of the plain server.
func TestPlainServerAnswers(t *testing.T) {
	web := httptest.NewServer(newPlainServer().routes())
	defer web.Close()
	good := asks(t, web.URL, web.Client())
	for range 20 {
		if err := good(); err != nil {
			t.Fatal(err)
		}
	}
	if answered(web.Client().Get(web.URL+"/c_messages/nobody")) == nil {
		t.Error("an object that is not there")
	}
}

// plainMessage has the properties of a message of the reference server.
type plainMessage struct {
	ID     string            `json:"_id"`
	Object string            `json:"object"`
	Text   string            `json:"c_text"`
	Author string            `json:"c_author"`
	Likes  *int64            `json:"c_likes,omitempty"`
	Sent   string            `json:"c_sent"`
	Pinned bool              `json:"c_pinned"`
	Meta   map[string]string `json:"c_meta,omitempty"`
}

// plainServer is the least that answers the same requests: no credentials, no scopes,
// no filters, no log, and nothing is stored.
type plainServer struct {
	mu   sync.RWMutex
	byID map[string]plainMessage
	ids  []string
}

func newPlainServer() *plainServer {
	s := &plainServer{byID: make(map[string]plainMessage)}
	for n := range 2500 {
		likes := int64(n % 50)
		s.put(plainMessage{
			ID: messageID(n), Object: "c_message", Text: "A message of some words (" + strconv.Itoa(n) + ")",
			Author: "695735a5ae811db100000002", Likes: &likes, Sent: "2026-01-02T03:04:05.000Z", Meta: map[string]string{"lang": "en"},
		})
	}
	return s
}

func (s *plainServer) put(m plainMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byID[m.ID] = m
	s.ids = append(s.ids, m.ID)
}

func (s *plainServer) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /c_messages/{id}", func(w http.ResponseWriter, r *http.Request) {
		s.mu.RLock()
		m, ok := s.byID[r.PathValue("id")]
		s.mu.RUnlock()
		if !ok {
			http.NotFound(w, r)
			return
		}
		sendJSON(w, m)
	})
	mux.HandleFunc("GET /c_messages", func(w http.ResponseWriter, r *http.Request) {
		limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
		if err != nil || limit < 1 || limit > 1000 {
			http.Error(w, "limit", http.StatusBadRequest)
			return
		}
		page := struct {
			Object  string         `json:"object"`
			Data    []plainMessage `json:"data"`
			HasMore bool           `json:"hasMore"`
		}{Object: "list"}
		s.mu.RLock()
		for _, id := range s.ids[:min(limit, len(s.ids))] {
			page.Data = append(page.Data, s.byID[id])
		}
		page.HasMore = len(s.ids) > limit
		s.mu.RUnlock()
		sendJSON(w, page)
	})
	mux.HandleFunc("POST /c_messages", func(w http.ResponseWriter, r *http.Request) {
		var m plainMessage
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			http.Error(w, "body", http.StatusBadRequest)
			return
		}
		var id [12]byte
		rand.Read(id[:])
		m.ID, m.Object, m.Sent = hex.EncodeToString(id[:]), "c_message", time.Now().UTC().Format(time.RFC3339)
		s.put(m)
		sendJSON(w, m)
	})
	return mux
}

func sendJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(v)
}

// messageID returns the id of a demo message of the reference server. It depends only
// on the message's number.
func messageID(n int) string {
	first := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	kind := sha256.Sum256([]byte("acme/c_message"))
	return fmt.Sprintf("%08x%x%08x", first.Unix(), kind[:4], n+1)
}

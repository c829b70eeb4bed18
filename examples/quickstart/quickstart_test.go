package main

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/signing"
)

func TestHandler(t *testing.T) {
	clientKey, secret := signing.Generate()
	h, err := newHandler("http://quickstart.example", clientKey, secret)
	if err != nil {
		t.Fatal(err)
	}
	// Signed without the library, as section 5.3 of the interface says.
	ask := func(command, nonce, query string) *httptest.ResponseRecorder {
		timestamp := strconv.FormatInt(time.Now().UnixMilli(), 10)
		mac := hmac.New(sha256.New, []byte(clientKey+string(secret)))
		fmt.Fprintf(mac, "%s;GET;%s", command, timestamp)
		r := httptest.NewRequest("GET", "/acme/v2/notes?"+query, nil)
		r.Header.Set("Service-Client-Key", clientKey)
		r.Header.Set("Service-Client-Timestamp", timestamp)
		r.Header.Set("Service-Client-Nonce", nonce)
		r.Header.Set("Service-Client-Signature", hex.EncodeToString(mac.Sum(nil)))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	const list = `{"object":"list","data":[{"_id":"1","object":"note","text":"Water the plants"},{"_id":"2","object":"note","text":"Call back"}],"hasMore":false}`
	if w := ask("/notes", "nonceNonceNonce1", ""); w.Code != http.StatusOK || w.Body.String() != list {
		t.Errorf("signed: %d %s", w.Code, w.Body)
	}
	if w := ask("/notes", "nonceNonceNonce1", ""); w.Code != http.StatusUnauthorized {
		t.Errorf("the same nonce again: %d %s", w.Code, w.Body)
	}
	if w := ask("/others", "nonceNonceNonce2", ""); w.Code != http.StatusUnauthorized {
		t.Errorf("signed for another path: %d %s", w.Code, w.Body)
	}
	for n, test := range []struct {
		query string
		code  int
		want  string
	}{
		{"limit=1", 200, `{"object":"list","data":[{"_id":"1","object":"note","text":"Water the plants"}],"hasMore":true}`},
		{"where=%7B%22_id%22%3A%7B%22%24gt%22%3A%221%22%7D%7D", 200, `{"object":"list","data":[{"_id":"2","object":"note","text":"Call back"}],"hasMore":false}`},
		{"limit=none", 400, `"path":"limit"`},
		{"where=%7B%22text%22%3A%22a%22%7D", 400, `unknown property`},
	} {
		// A second request in the same millisecond would be a replay.
		time.Sleep(2 * time.Millisecond)
		if w := ask("/notes", fmt.Sprintf("nonceNonceNonc%02d", 10+n), test.query); w.Code != test.code || !strings.Contains(w.Body.String(), test.want) {
			t.Errorf("%s: %d %s", test.query, w.Code, w.Body)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/acme/v2/notes", nil))
	if w.Code != http.StatusUnauthorized {
		t.Errorf("unsigned: %d %s", w.Code, w.Body)
	}
}

// TestPrintedCommand starts the program and runs the command that it prints.
func TestPrintedCommand(t *testing.T) {
	program := filepath.Join(t.TempDir(), "quickstart")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	server := exec.Command(program, "-addr", "127.0.0.1:0")
	server.Stderr = os.Stderr
	stdout, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer server.Wait()
	defer server.Process.Kill()

	var arguments []string
	for lines := bufio.NewScanner(stdout); arguments == nil && lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "  go run ./examples/client "); ok {
			arguments = strings.Fields(rest)
		}
	}
	client := exec.Command("go", append([]string{"run", "../client"}, arguments...)...)
	out, err := client.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Water the plants") {
		t.Errorf("%v: %s", err, out)
	}
}

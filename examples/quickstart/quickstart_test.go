package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestQuickstart runs the program, on another port, and calls it without the library.
func TestQuickstart(t *testing.T) {
	base, apiKey := start(t)
	jar, _ := cookiejar.New(nil) // returns no error
	browser := &http.Client{Jar: jar}

	if code, _ := get(t, browser, base, nil); code != http.StatusUnauthorized {
		t.Errorf("before the login: %d", code)
	}
	for _, test := range []struct {
		password string
		code     int
	}{{"wrong horse", 401}, {"correct horse", 200}} {
		response, err := browser.PostForm(base+"/login", url.Values{"name": {"ada"}, "password": {test.password}})
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != test.code {
			t.Errorf("login with %q: %d", test.password, response.StatusCode)
		}
	}
	if code, body := get(t, browser, base, nil); code != http.StatusOK || !strings.Contains(body, `"ada"`) {
		t.Errorf("after the login: %d %s", code, body)
	}

	for key, want := range map[string]int{apiKey: http.StatusOK, "acme_live_guessed": http.StatusUnauthorized} {
		if code, body := get(t, http.DefaultClient, base, http.Header{"Authorization": {"Bearer " + key}}); code != want {
			t.Errorf("with the key %s: %d %s, want %d", key, code, body, want)
		}
	}
}

// TestQuickstartIsShort keeps the program to what the README can show.
func TestQuickstartIsShort(t *testing.T) {
	source, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	if lines := bytes.Count(source, []byte("\n")) - 1; lines > 40 { // without its comment
		t.Errorf("%d lines, and 40 at most", lines)
	}
}

func get(t *testing.T, client *http.Client, base string, header http.Header) (int, string) {
	r, err := http.NewRequestWithContext(t.Context(), "GET", base+"/profile", nil)
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(r.Header, header)
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// start runs the program on a free port, and returns what it prints.
func start(t *testing.T) (base, apiKey string) {
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	port := listener.Addr().(*net.TCPAddr).Port

	source, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs("main.go")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	moved, overlay, program := filepath.Join(folder, "main.go"), filepath.Join(folder, "overlay.json"), filepath.Join(folder, "quickstart")
	text, _ := json.Marshal(map[string]any{"Replace": map[string]string{here: moved}}) // strings are valid
	for name, content := range map[string][]byte{moved: bytes.ReplaceAll(source, []byte("8081"), []byte(strconv.Itoa(port))), overlay: text} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("go", "build", "-overlay", overlay, "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	server := exec.Command(program)
	stderr, err := server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	listener.Close() // as late as possible, because others may take the port
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Process.Kill(); server.Wait() })
	lines := bufio.NewScanner(stderr)
	if !lines.Scan() {
		t.Fatal("the server printed nothing")
	}
	printed := regexp.MustCompile(`key=(\w+)`).FindStringSubmatch(lines.Text())
	if printed == nil {
		t.Fatalf("the server printed %q", lines.Text())
	}
	base = fmt.Sprintf("http://localhost:%d/acme/v2", port)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		connection, err := net.Dial("tcp", fmt.Sprintf("localhost:%d", port))
		if err == nil {
			connection.Close()
			return base, printed[1]
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

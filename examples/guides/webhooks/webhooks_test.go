package webhooks

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// inbox is an Inbox in memory. It fails for the first failures calls.
type inbox struct {
	mu       sync.Mutex
	taken    map[string]int // how often each event had its effect
	asked    int
	failures int
}

func (b *inbox) Take(_ context.Context, e Event) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked++
	if b.asked <= b.failures {
		return errors.New("the database is down")
	}
	if b.taken == nil {
		b.taken = map[string]int{}
	}
	if b.taken[e.ID] == 0 {
		b.taken[e.ID]++
	}
	return nil
}

// recorder is an http.RoundTripper that keeps what was sent.
type recorder struct {
	mu   sync.Mutex
	sent []*http.Request
	body [][]byte
}

func (c *recorder) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	kept := r.Clone(context.Background())
	c.mu.Lock()
	c.sent, c.body = append(c.sent, kept), append(c.body, body)
	c.mu.Unlock()
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	return http.DefaultTransport.RoundTrip(r)
}

// again sends the request of an attempt once more, perhaps changed.
func (c *recorder) again(t *testing.T, attempt int, edit func(*http.Request)) int {
	t.Helper()
	r := c.sent[attempt].Clone(t.Context())
	r.Body = io.NopCloser(bytes.NewReader(c.body[attempt]))
	edit(r)
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode
}

func keyPair(t *testing.T) (ed25519.PublicKey, ed25519.PrivateKey) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return public, private
}

// often is patient enough for a receiver that has just started, whose first full second
// is yet to come.
var often = slices.Repeat([]time.Duration{200 * time.Millisecond}, 150)

var created = Event{ID: "evt-1", Type: "note.created", Data: json.RawMessage(`{"text":"hi"}`)}

// listening starts a receiver and returns its URL.
func listening(t *testing.T, platform ed25519.PublicKey, b Inbox) string {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	url := "http://" + server.Listener.Addr().String()
	handler, err := Receiver(url, platform, b)
	if err != nil {
		t.Fatal(err)
	}
	server.Config.Handler = handler
	server.Start()
	t.Cleanup(server.Close)
	return url
}

func TestDelivery(t *testing.T) {
	public, private := keyPair(t)
	b := &inbox{failures: 2}
	url := listening(t, public, b) + "/hooks?customer=7"
	sent := new(recorder)
	sender := Sender{Key: private, Base: sent, Waits: often}
	if err := sender.Deliver(t.Context(), url, created); err != nil {
		t.Fatal(err)
	}
	if b.taken[created.ID] != 1 || b.asked != 3 {
		t.Errorf("taken %v, asked %d times", b.taken, b.asked)
	}
	inputs := map[string]bool{}
	for i, r := range sent.sent {
		inputs[r.Header.Get("Signature-Input")] = true
		if !bytes.Equal(sent.body[i], sent.body[0]) {
			t.Errorf("another body: %s", sent.body[i])
		}
	}
	if len(inputs) != len(sent.sent) {
		t.Error("two attempts have one nonce")
	}
	if err := sender.Deliver(t.Context(), url, created); err != nil || b.taken[created.ID] != 1 {
		t.Errorf("once more: %v, taken %v", err, b.taken)
	}

	last := len(sent.sent) - 1
	for name, test := range map[string]struct {
		edit func(*http.Request)
		want int
	}{
		"the same again":               {func(*http.Request) {}, 401},
		"another query":                {func(r *http.Request) { r.URL.RawQuery = "customer=8" }, 401},
		"another path":                 {func(r *http.Request) { r.URL.Path = "/others" }, 401},
		"another spelling of the path": {func(r *http.Request) { r.URL.Path = "/others/../hooks" }, 400},
		"another method":               {func(r *http.Request) { r.Method = "PUT" }, 401},
		"no signature":                 {func(r *http.Request) { r.Header.Del("Signature-Input") }, 401},
		"another body": {func(r *http.Request) {
			r.Body = io.NopCloser(strings.NewReader(`{"id":"evt-2"}`))
			r.ContentLength = 14
		}, 400},
		"no digest":       {func(r *http.Request) { r.Header.Del("Content-Digest") }, 400},
		"another account": {func(r *http.Request) { r.Header.Set("Service-Client-Account", "eve") }, 400},
	} {
		t.Run(name, func(t *testing.T) {
			if got := sent.again(t, last, test.edit); got != test.want {
				t.Errorf("status %d, want %d", got, test.want)
			}
		})
	}
	if b.taken["evt-2"] != 0 {
		t.Error("taken")
	}
}

func TestDeliveryIsRefused(t *testing.T) {
	public, _ := keyPair(t)
	_, stranger := keyPair(t)
	b := new(inbox)
	url := listening(t, public, b) + "/hooks"
	t.Run("by another key", func(t *testing.T) {
		s := Sender{Key: stranger, Base: http.DefaultTransport, Waits: []time.Duration{0}}
		if err := s.Deliver(t.Context(), url, created); err == nil || b.asked > 0 {
			t.Errorf("%v, asked %d times", err, b.asked)
		}
	})
	t.Run("for good", func(t *testing.T) {
		gone := httptest.NewServer(http.NotFoundHandler())
		defer gone.Close()
		s := Sender{Key: stranger, Base: http.DefaultTransport, Waits: often}
		if err := s.Deliver(t.Context(), gone.URL, created); !errors.Is(err, ErrRefused) {
			t.Error(err)
		}
	})
	for _, status := range []int{401, 408, 425, 429, 500, 503} {
		t.Run(fmt.Sprint("another attempt after ", status), func(t *testing.T) {
			asked := 0
			busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if asked++; asked == 1 {
					w.WriteHeader(status)
				}
			}))
			defer busy.Close()
			s := Sender{Key: stranger, Base: http.DefaultTransport, Waits: []time.Duration{0}}
			if err := s.Deliver(t.Context(), busy.URL, created); err != nil || asked != 2 {
				t.Errorf("%v after %d attempts", err, asked)
			}
		})
	}
	t.Run("a redirect", func(t *testing.T) {
		away := httptest.NewServer(http.RedirectHandler(url, http.StatusTemporaryRedirect))
		defer away.Close()
		s := Sender{Key: stranger, Base: http.DefaultTransport}
		if err := s.Deliver(t.Context(), away.URL, created); !errors.Is(err, ErrRefused) || b.asked > 0 {
			t.Error(err)
		}
	})
	t.Run("until the context ends", func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Millisecond, errors.New("enough"))
		defer cancel()
		s := Sender{Key: stranger, Base: http.DefaultTransport, Waits: []time.Duration{time.Hour}}
		if err := s.Deliver(ctx, url, created); err == nil {
			t.Error("delivered")
		}
	})
}

func TestPublicAddresses(t *testing.T) {
	for address, public := range map[string]bool{
		"93.184.216.34:443": true, "[2606:4700::1]:443": true,
		"127.0.0.1:80": false, "[::1]:80": false, "10.0.0.1:80": false, "172.16.0.1:80": false, "192.168.1.1:80": false,
		"169.254.169.254:80": false, "[fe80::1]:80": false, "[fd00::1]:80": false, "0.0.0.0:80": false, "[::]:80": false,
		"100.64.0.1:80": false, "224.0.0.1:80": false, "255.255.255.255:80": false, "[::ffff:127.0.0.1]:80": false,
		"[64:ff9b::7f00:1]:80": false, "[2002:7f00:1::]:80": false, "nonsense": false,
		"[fec0::1]:80": false, "[2001::1]:80": false, "[2001:db8::1]:80": false, "[3fff::1]:80": false, "[5f00::1]:80": false,
		"[100::1]:80": false, "[::7f00:1]:80": false, "[::ffff:0:7f00:1]:80": false, "[64:ff9b:1::7f00:1]:80": false,
		"[2001:20::1]:80": false, "[fe80::1%eth0]:80": false, "192.88.99.1:80": false, "192.0.2.1:80": false, "198.51.100.1:80": false,
		"203.0.113.1:80": false, "192.0.0.8:80": false, "198.18.0.1:80": false, "[2001:4860:4860::8888]:443": true,
		"[2a00:1450::1]:443": true,
	} {
		if got := checkPublic(address) == nil; got != public {
			t.Errorf("%s: public %v, want %v", address, got, public)
		}
	}
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	_, private := keyPair(t)
	err := (&Sender{Key: private}).Deliver(t.Context(), server.URL, created)
	if !errors.Is(err, errInternal) {
		t.Error(err)
	}
}

// TestNodeReceiver delivers to receiver.mjs. NODE_RECEIVER is a copy of it in a folder
// with the package that it imports, as internal/interop/run makes it.
func TestNodeReceiver(t *testing.T) {
	file := os.Getenv("NODE_RECEIVER")
	if file == "" {
		t.Skip("NODE_RECEIVER is not set")
	}
	public, private := keyPair(t)
	url, printed := nodeReceiver(t, file, public)
	sent := new(recorder)
	sender := Sender{Key: private, Base: sent, Waits: often}
	url += "/hooks?customer=7"
	for range 2 { // the second has no effect
		if err := sender.Deliver(t.Context(), url, created); err != nil {
			t.Fatal(err)
		}
	}
	if line := <-printed; line != "note.created evt-1" {
		t.Errorf("printed %q", line)
	}
	last := len(sent.sent) - 1
	for name, test := range map[string]struct {
		edit func(*http.Request)
		want int
	}{
		"the same again":               {func(*http.Request) {}, 401},
		"another query":                {func(r *http.Request) { r.URL.RawQuery = "customer=8" }, 401},
		"another path":                 {func(r *http.Request) { r.URL.Path = "/others" }, 401},
		"another spelling of the path": {func(r *http.Request) { r.URL.Path = "/others/../hooks" }, 400},
		"another method":               {func(r *http.Request) { r.Method = "PUT" }, 401},
		"no signature":                 {func(r *http.Request) { r.Header.Del("Signature-Input") }, 401},
		"another body": {func(r *http.Request) {
			r.Body = io.NopCloser(strings.NewReader(`{"id":"evt-2"}`))
			r.ContentLength = 14
		}, 400},
		"no digest": {func(r *http.Request) { r.Header.Del("Content-Digest") }, 401},
	} {
		t.Run(name, func(t *testing.T) {
			if got := sent.again(t, last, test.edit); got != test.want {
				t.Errorf("status %d, want %d", got, test.want)
			}
		})
	}
	t.Run("another key", func(t *testing.T) {
		_, stranger := keyPair(t)
		err := (&Sender{Key: stranger, Base: http.DefaultTransport}).Deliver(t.Context(), url, created)
		if err == nil || !strings.Contains(err.Error(), "401") {
			t.Error(err)
		}
	})
	t.Run("fewer components", func(t *testing.T) {
		for _, component := range []string{` "@query"`, ` "@authority"`, ` "content-digest"`} {
			if got := sent.again(t, last, func(r *http.Request) { resign(r, private, component) }); got != 401 {
				t.Errorf("without%s: status %d", component, got)
			}
		}
	})
	select {
	case line := <-printed:
		t.Errorf("printed %q", line)
	default:
	}
}

// resign signs a request without one of the components, which no Transport does.
func resign(r *http.Request, key ed25519.PrivateKey, without string) {
	input := strings.Replace(strings.TrimPrefix(r.Header.Get("Signature-Input"), "sig="), without, "", 1)
	list, _, _ := strings.Cut(strings.TrimPrefix(input, "("), ")")
	values := map[string]string{
		`"@method"`: r.Method, `"@authority"`: r.URL.Host, `"@path"`: r.URL.EscapedPath(), `"@query"`: "?" + r.URL.RawQuery,
		`"content-digest"`: r.Header.Get("Content-Digest"),
	}
	base := ""
	for component := range strings.FieldsSeq(list) {
		base += component + ": " + values[component] + "\n"
	}
	signature := ed25519.Sign(key, []byte(base+`"@signature-params": `+input))
	r.Header.Set("Signature-Input", "sig="+input)
	r.Header.Set("Signature", "sig=:"+base64.StdEncoding.EncodeToString(signature)+":")
}

// nodeReceiver starts a receiver in Node. Its lines come from the channel.
func nodeReceiver(t *testing.T, file string, platform ed25519.PublicKey) (url string, printed <-chan string) {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url = "http://" + free.Addr().String()
	free.Close()
	cmd := exec.Command("node", file, url, base64.RawURLEncoding.EncodeToString(platform))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	lines := make(chan string, 10)
	go func() {
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			lines <- scanner.Text()
		}
		close(lines)
	}()
	if line := <-lines; line != "ready" {
		t.Fatalf("the receiver prints %q", line)
	}
	return url, lines
}

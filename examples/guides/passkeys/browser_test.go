package passkeys_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
)

// TestInChromium adds a passkey and signs in with it in Chromium, whose virtual authenticator states
// user verification or does not.
func TestInChromium(t *testing.T) {
	program, err := exec.LookPath("chromium")
	if err != nil && os.Getenv("REQUIRE_ENGINES") != "1" {
		t.Skip(err) // CI installs it
	}
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	c := chromium(t, program)
	c.open(w.url + "/")
	logIn := `fetch("/acme/v2/login", { method: "POST", body: new URLSearchParams({ login: "ann", password: "` + password + `" }) }).then(r => r.status)`
	logOut := `fetch("/acme/v2/logout", { method: "POST" }).then(r => r.status)`
	add := `import("/passkeys.mjs").then(m => m.addPasskey("/acme/v2")).catch(String)`
	signIn := `import("/passkeys.mjs").then(m => m.signIn("/acme/v2")).catch(String)`
	me := `fetch("/acme/v2/me").then(r => r.json()).then(r => r.data ?? "nobody")`

	phone := c.authenticator()
	c.want(logIn, 200.0)
	c.want(add, "added")
	c.want(logOut, 200.0)

	w.requires(auth.SessionPolicy{Methods: []string{session.MethodPasskey}, SecondFactor: true})
	c.want(logIn, 403.0)
	c.want(signIn, "ann")
	c.want(me, "ann")
	c.want(logOut, 200.0)
	c.want(me, "nobody")

	// A script in the page asks the authenticator for less than the server did.
	c.want(c.unverified(phone), 403.0)
	c.want(me, "nobody")

	w.requires(auth.SessionPolicy{Methods: []string{session.MethodPassword}, SecondFactor: true})
	c.want(signIn, "Error: status 403") // the first step is a password
	c.want(logIn, 403.0)
	c.want(me, "nobody")
	c.want(c.unverified(phone), 200.0) // after a password, possession is the second factor
	c.want(me, "ann")
}

// browser is a page of Chromium, over a pipe of its DevTools protocol.
type browser struct {
	t       *testing.T
	to      *os.File
	from    *bufio.Reader
	id      int
	session string // of the page
}

func chromium(t *testing.T, program string) *browser {
	t.Helper()
	theirs, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, theirsToo, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	var output bytes.Buffer
	run := exec.CommandContext(t.Context(), program, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--user-data-dir="+t.TempDir())
	run.ExtraFiles = []*os.File{theirs, theirsToo} // 3 and 4
	run.Stderr = &output
	run.WaitDelay = 10 * time.Second
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	theirsToo.Close()
	from.SetReadDeadline(time.Now().Add(2 * time.Minute))
	c := &browser{t: t, to: to, from: bufio.NewReader(from)}
	t.Cleanup(func() {
		c.session = ""
		c.send("Browser.close", nil)
		to.Close()
		run.Wait() // its status says nothing about the pages
		from.Close()
		if t.Failed() {
			t.Logf("%.2000s", output.String())
		}
	})
	return c
}

func (c *browser) send(method string, params any) {
	c.id++
	message := map[string]any{"id": c.id, "method": method}
	if params != nil {
		message["params"] = params
	}
	if c.session != "" {
		message["sessionId"] = c.session
	}
	text, _ := json.Marshal(message) // maps of the tests
	c.to.Write(append(text, 0))
}

// call calls a method, and decodes its result.
func (c *browser) call(method string, params, result any) {
	c.t.Helper()
	c.send(method, params)
	for {
		text, err := c.from.ReadBytes(0)
		if err != nil {
			c.t.Fatalf("%s: %v", method, err)
		}
		var message struct {
			ID     int
			Result json.RawMessage
			Error  json.RawMessage
		}
		err = json.Unmarshal(bytes.TrimSuffix(text, []byte{0}), &message)
		if err == nil && message.ID != c.id {
			continue // an event
		}
		if err == nil && message.Error != nil {
			err = errors.New(string(message.Error))
		}
		if err == nil && result != nil {
			err = json.Unmarshal(message.Result, result)
		}
		if err != nil {
			c.t.Fatalf("%s: %v", method, err)
		}
		return
	}
}

// open opens a page, and lets it have virtual authenticators.
func (c *browser) open(url string) {
	c.t.Helper()
	var target struct{ TargetID string }
	c.call("Target.createTarget", map[string]any{"url": url}, &target)
	var attached struct{ SessionID string }
	c.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	c.session = attached.SessionID
	c.call("WebAuthn.enable", map[string]any{}, nil)
	for range 1200 {
		if c.value("document.title") == "passkeys" {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	c.t.Fatal("the page does not open")
}

// authenticator adds one that verifies its user, unless it is asked not to.
func (c *browser) authenticator() (id string) {
	c.t.Helper()
	options := map[string]any{"protocol": "ctap2", "transport": "usb", "hasResidentKey": true,
		"hasUserVerification": true, "isUserVerified": true, "automaticPresenceSimulation": true}
	var added struct{ AuthenticatorID string }
	c.call("WebAuthn.addVirtualAuthenticator", map[string]any{"options": options}, &added)
	return added.AuthenticatorID
}

// unverified returns a script that signs in by the first passkey of an authenticator, without user
// verification.
func (c *browser) unverified(authenticator string) string {
	c.t.Helper()
	var has struct {
		Credentials []struct{ CredentialID []byte }
	}
	c.call("WebAuthn.getCredentials", map[string]any{"authenticatorId": authenticator}, &has)
	if len(has.Credentials) != 1 {
		c.t.Fatalf("%d passkeys", len(has.Credentials))
	}
	id := base64.RawURLEncoding.EncodeToString(has.Credentials[0].CredentialID)
	return `fetch("/acme/v2/signin/begin", { method: "POST" }).then(r => r.json()).then(r => navigator.credentials.get({
		publicKey: PublicKeyCredential.parseRequestOptionsFromJSON({ ...r.data.publicKey, userVerification: "discouraged",
			allowCredentials: [{ type: "public-key", id: "` + id + `" }] }) }))
		.then(a => fetch("/acme/v2/signin", { method: "POST", body: JSON.stringify(a.toJSON()) })).then(r => r.status, String)`
}

func (c *browser) value(script string) any {
	c.t.Helper()
	var evaluated struct {
		Result           struct{ Value any }
		ExceptionDetails json.RawMessage
	}
	c.call("Runtime.evaluate", map[string]any{"expression": script, "awaitPromise": true, "returnByValue": true, "userGesture": true}, &evaluated)
	if evaluated.ExceptionDetails != nil {
		return fmt.Sprint("exception: ", string(evaluated.ExceptionDetails))
	}
	return evaluated.Result.Value
}

// want runs a script in the page, and compares its result.
func (c *browser) want(script string, want any) {
	c.t.Helper()
	if got := c.value(script); got != want {
		name, _, _ := strings.Cut(script, " ")
		c.t.Errorf("%s: %v, want %v", name, got, want)
	}
}

package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const (
	key    = "demoKeyDemoKeyDemoKey1"
	secret = "aSecretThatIsNeverPrinted"
)

// correctlySigned checks the signature of section 5.3 of the interface with the
// standard library only.
func correctlySigned(r *http.Request, prefix string) bool {
	header := func(name string) string { return r.Header.Get(prefix + "Client-" + name) }
	command := strings.TrimPrefix(r.URL.EscapedPath(), "/acme/v2")
	mac := hmac.New(sha256.New, []byte(key+secret))
	fmt.Fprintf(mac, "%s;%s;%s", command, r.Method, header("Timestamp"))
	return header("Signature") == hex.EncodeToString(mac.Sum(nil)) && header("Key") == key && len(header("Nonce")) == 16
}

// service is a server that echoes the request at /acme/v2/echo if its signature is
// correct.
func service(t *testing.T, prefix string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := func(name string) string { return r.Header.Get(prefix + "Client-" + name) }
		if !correctlySigned(r, prefix) {
			w.WriteHeader(http.StatusUnauthorized)
			io.WriteString(w, `{"object":"fault","errCode":"service.accessDenied.invalidRequestSignature","status":401,"message":"No."}`)
			return
		}
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, `{"method":%q,"path":%q,"query":%q,"account":%q,"type":%q,"body":%q}`,
			r.Method, r.URL.EscapedPath(), r.URL.RawQuery, header("Account"), r.Header.Get("Content-Type"), body)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// client runs a command line. Its environment is lines of name=value.
func client(t *testing.T, stdin, environment string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	c := cli{in: strings.NewReader(stdin), out: &out, errs: &errs, getenv: lookup(environment)}
	err = c.run(t.Context(), args)
	if text := out.String() + errs.String() + fmt.Sprint(err); strings.Contains(text, secret) {
		t.Errorf("the secret is printed: %s", text)
	}
	return out.String(), errs.String(), err
}

// lookup returns an os.Getenv for an environment of name=value lines.
func lookup(environment string) func(string) string {
	return func(name string) string {
		for line := range strings.Lines(environment) {
			if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+"="); ok {
				return value
			}
		}
		return ""
	}
}

func environment(url string) string {
	return "TENANTKIT_URL=" + url + "/acme/v2\nTENANTKIT_KEY=" + key + "\nTENANTKIT_SECRET=" + secret
}

func TestGet(t *testing.T) {
	env := environment(service(t, "Service-"))
	for _, test := range []struct{ path, want string }{
		{"/echo", `"path": "/acme/v2/echo"`},
		{"echo", `"path": "/acme/v2/echo"`},
		{"/a%2Fb", `"path": "/acme/v2/a%2Fb"`},
		{"/echo?limit=3&paths[]=c_text", `"query": "limit=3&paths[]=c_text"`},
		{`/echo?where={"c_text": "ä#1+%20"}`, `"query": "where={\"c_text\":%20\"%C3%A4%231+%20\"}"`},
		{"/a b", `"path": "/acme/v2/a%20b"`},
	} {
		out, _, err := client(t, "", env, "get", test.path)
		if err != nil || !strings.Contains(out, test.want) {
			t.Errorf("get %s: %v\n%s", test.path, err, out)
		}
	}
	for _, args := range []string{"--account ann /echo", "--account=ann /echo", "/echo --account ann", "--account ann -- /echo"} {
		out, _, err := client(t, "", env, append([]string{"get"}, strings.Fields(args)...)...)
		if err != nil || !strings.Contains(out, `"account": "ann"`) {
			t.Errorf("%s: %v\n%s", args, err, out)
		}
	}
	t.Run("a value that is spelled like a flag", func(t *testing.T) {
		out, _, err := client(t, "", env, "get", "--account", "--json", "/echo")
		if err != nil || !strings.Contains(out, `"account": "--json"`) {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

func TestChanges(t *testing.T) {
	url := service(t, "Service-")
	json := []string{`"type": "application/json"`, `"body": "{\"a\":1}"`}
	none := []string{`"type": ""`, `"body": ""`}
	for _, test := range []struct {
		name, stdin string
		args        []string
		want        []string
	}{
		{"post sends its argument", "", []string{"post", "/echo", `{"a":1}`}, append(json, `"method": "POST"`)},
		{"post sends standard input", `{"a":1}`, []string{"post", "/echo", "-"}, append(json, `"method": "POST"`)},
		{"post without JSON sends no body", `{"a":1}`, []string{"post", "/echo"}, append(none, `"method": "POST"`)},
		{"post keeps a query", "", []string{"post", "/echo?a=1"}, append(none, `"query": "a=1"`)},
		{"patch sends its argument", "", []string{"patch", "/echo", `{"a":1}`}, append(json, `"method": "PATCH"`)},
		{"patch sends standard input", `{"a":1}`, []string{"patch", "/echo", "-"}, append(json, `"method": "PATCH"`)},
		{"delete without JSON sends no body", `{"a":1}`, []string{"delete", "/echo"}, append(none, `"method": "DELETE"`)},
		{"delete sends its argument", "", []string{"delete", "/echo", `{"a":1}`}, append(json, `"method": "DELETE"`)},
	} {
		t.Run(test.name, func(t *testing.T) {
			out, _, err := client(t, test.stdin, environment(url), test.args...)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range test.want {
				if !strings.Contains(out, want) {
					t.Errorf("no %s in\n%s", want, out)
				}
			}
			second := append(test.args, "--signature", "2")
			if _, _, err := client(t, test.stdin, environment(secondService(t)), second...); err != nil {
				t.Errorf("with version 2: %v", err)
			}
		})
	}
}

func TestSign(t *testing.T) {
	url := service(t, "Acme-")
	env := environment(url) + "\nTENANTKIT_HEADER_PREFIX=Acme-"
	t.Run("headers that another program can send", func(t *testing.T) {
		out, _, err := client(t, "", env, "sign", "--account", "ann", "delete", "/echo?x=1")
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.NewRequest("DELETE", url+"/acme/v2/echo?x=2", nil)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			r.Header.Set(name, value)
		}
		reply, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer reply.Body.Close()
		body, err := io.ReadAll(reply.Body)
		if err != nil || !strings.Contains(string(body), `"account":"ann"`) {
			t.Errorf("%v %s", err, body)
		}
	})
	t.Run("a curl command", func(t *testing.T) {
		if _, err := exec.LookPath("curl"); err != nil {
			t.Skip(err)
		}
		out, _, err := client(t, "", env, "sign", "--curl", "--data", `{"it's":"$HOME"}`, "POST", "/echo?paths[]=it's")
		if err != nil {
			t.Fatal(err)
		}
		body, err := exec.Command("sh", "-c", out).Output()
		for _, want := range []string{`"method":"POST"`, `"query":"paths[]=it's"`, `"type":"application/json"`, `"body":"{\"it's\":\"$HOME\"}"`} {
			if err != nil || !strings.Contains(string(body), want) {
				t.Errorf("%v, want %s in %s\n%s", err, want, body, out)
			}
		}
	})
	t.Run("a path that could be read in two ways", func(t *testing.T) {
		if _, _, err := client(t, "", env, "sign", "GET", "/a/../b"); err == nil {
			t.Error("signed")
		}
	})
}

func TestConnection(t *testing.T) {
	url := service(t, "Service-")
	demo := filepath.Join(t.TempDir(), "demo.json")
	text := `{"base_url":"` + url + `","org":"acme","client_key":"` + key + `","client_secret":"` + secret + `","more":1}`
	if err := os.WriteFile(demo, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	wrong := "TENANTKIT_URL=http://127.0.0.1:1\nTENANTKIT_KEY=wrong\nTENANTKIT_SECRET=wrong\n"
	for _, test := range []struct {
		name, environment string
		flags             []string
	}{
		{"the demo file, by flag", "", []string{"--demo-json", demo}},
		{"the demo file, by environment", "TENANTKIT_DEMO_JSON=" + demo, nil},
		{"the environment", environment(url), nil},
		{"flags", "", []string{"--url", url + "/acme/v2/", "--key", key, "--secret", secret}},
		{"flags before the environment", wrong, []string{"--url", url + "/acme/v2", "--key", key, "--secret", secret}},
		{"some of each", "TENANTKIT_SECRET=" + secret, []string{"--key", key, "--demo-json", demo}},
	} {
		t.Run(test.name, func(t *testing.T) {
			args := append(append([]string{"get"}, test.flags...), "/echo")
			if out, _, err := client(t, "", test.environment, args...); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	t.Run("the environment before the demo file", func(t *testing.T) {
		if _, _, err := client(t, "", wrong, "get", "--demo-json", demo, "/echo"); err == nil {
			t.Error("the demo file was used")
		}
	})
	t.Run("a demo file that is none", func(t *testing.T) {
		if _, _, err := client(t, "", "", "get", "--demo-json", filepath.Dir(demo), "/echo"); err == nil {
			t.Error("no error")
		}
	})
}

func TestRefusals(t *testing.T) {
	url := service(t, "Service-")
	t.Run("a fault is the error", func(t *testing.T) {
		out, _, err := client(t, "", environment(url), "get", "--key", "another", "/echo")
		if err == nil || out != "" || !strings.Contains(err.Error(), "accessDenied.invalidRequestSignature") {
			t.Errorf("%v, printed %q", err, out)
		}
		if errors.As(err, new(usageError)) {
			t.Error("taken for wrong usage")
		}
		if strings.Count(err.Error(), "401") != 1 {
			t.Errorf("it says its status more than once: %v", err)
		}
	})
	for _, test := range []struct {
		name string
		args []string
		want string
	}{
		{"an unknown command", []string{"fetch"}, `unknown command "fetch" for "client"`},
		{"a misspelled command", []string{"verfy"}, "Did you mean this?\n\tverify\n"},
		{"a misspelled command of scope", []string{"scope", "chek"}, "Run 'client scope --help' for usage."},
		{"no path", []string{"get"}, "accepts between 1 and 1 arg(s), received 0\nRun 'client get --help' for usage."},
		{"no path to post to", []string{"post", "--url", url, "--key", key}, "accepts between 1 and 2 arg(s), received 0"},
		{"more than one body", []string{"post", "--url", url, "--key", key, "/echo", "{}", "{}"}, "received 3"},
		{"an empty body", []string{"post", "--url", url, "--key", key, "/echo", ""}, "leave it out to send no body"},
		{"a patch of nothing", []string{"patch", "--url", url, "--key", key, "/echo"}, "received 1"},
		{"nothing to delete", []string{"delete", "--url", url, "--key", key}, "received 0"},
		{"a misspelled flag", []string{"list", "--limt", "3", "/echo"}, "unknown flag: --limt"},
		{"a flag with one dash", []string{"list", "-limit", "3", "/echo"}, "unknown shorthand flag: 'l' in -limit"},
		{"a duration without its unit", []string{"mint", "--life", "5", "ann"}, "missing unit in duration"},
		{"another version of signatures", []string{"get", "--url", url, "--key", key, "--signature", "3", "/echo"}, `version "3" of signatures: it is 1 or 2`},
		{"an unknown flag", []string{"sign", "--nope", "GET", "/echo"}, "--nope"},
		{"no server", []string{"get", "/echo"}, "URL"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, _, err := client(t, "", "TENANTKIT_SECRET="+secret, test.args...)
			if !errors.As(err, new(usageError)) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

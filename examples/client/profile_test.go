package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/examples/internal/private"
)

// TestProfileInUseHasItsSettings reads all settings of the profile in use, not only of one
// that a flag names.
func TestProfileInUseHasItsSettings(t *testing.T) {
	h, url := newHome(t), service(t, "Acme-")
	if _, _, err := h.client(t, secret, "", "login", "--header-prefix", "Acme-", "--account", "ann", "--url", url+"/acme/v2", "--key", key); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"get", "/echo"}, {"get", "--profile", "default", "/echo"}} {
		if out, _, err := h.client(t, "", "", args...); err != nil || !strings.Contains(out, `"account": "ann"`) {
			t.Errorf("%v: %v %s", args, err, out)
		}
	}
}

// home is a file of profiles.
type home string

func newHome(t *testing.T) home {
	return home(filepath.Join(t.TempDir(), "config", "tenantkit", "profiles.json"))
}

// keep writes profiles to the file.
func (h home) keep(t *testing.T, p profiles) {
	t.Helper()
	if err := (cli{profiles: string(h)}).writeProfiles(p); err != nil {
		t.Fatal(err)
	}
}

func (h home) client(t *testing.T, stdin, environment string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	c := cli{in: strings.NewReader(stdin), out: &out, errs: &errs, getenv: lookup(environment), profiles: string(h)}
	err = c.run(t.Context(), args)
	if text := out.String() + errs.String() + fmt.Sprint(err); strings.Contains(text, secret) {
		t.Errorf("the secret is printed: %s", text)
	}
	return out.String(), errs.String(), err
}

func TestLogin(t *testing.T) {
	h, url := newHome(t), service(t, "Service-")
	out, _, err := h.client(t, secret+"\n", "", "login", "--url", url+"/acme/v2/", "--key", key)
	if err != nil || !strings.Contains(out, "profile default: ") {
		t.Fatalf("%v %s", err, out)
	}
	if runtime.GOOS != "windows" {
		for path, want := range map[string]os.FileMode{string(h): 0o600, filepath.Dir(string(h)): 0o700} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s: %v, %v", path, info.Mode(), err)
			}
		}
	}
	if left, err := os.ReadDir(filepath.Dir(string(h))); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v %v", left, err)
	}
	t.Run("then no flags are needed", func(t *testing.T) {
		if out, _, err := h.client(t, "", "", "get", "/echo"); err != nil || !strings.Contains(out, "/acme/v2/echo") {
			t.Errorf("%v %s", err, out)
		}
	})
	t.Run("the environment comes before the default profile", func(t *testing.T) {
		_, _, err := h.client(t, "", "TENANTKIT_URL=http://127.0.0.1:1/acme/v2\nTENANTKIT_KEY=k\nTENANTKIT_SECRET=s", "get", "/echo")
		if err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") {
			t.Errorf("%v", err)
		}
	})
	t.Run("a named profile comes before the environment", func(t *testing.T) {
		if _, _, err := h.client(t, "", "TENANTKIT_URL=http://127.0.0.1:1/acme/v2", "get", "--profile", "default", "/echo"); err != nil {
			t.Error(err)
		}
	})
	t.Run("its credential is not used at another URL", func(t *testing.T) {
		for _, args := range [][]string{{"get", "--url", url + "/acme/v2", "/echo"}, {"get", "--profile", "default", "--url", url + "/acme/v2", "/echo"}} {
			if _, _, err := h.client(t, "", "", args...); !errors.As(err, new(usageError)) {
				t.Errorf("%v: %v", args, err)
			}
		}
		if _, _, err := h.client(t, "", "TENANTKIT_URL="+url+"/acme/v2", "get", "/echo"); !errors.As(err, new(usageError)) {
			t.Errorf("by the environment: %v", err)
		}
	})
	t.Run("logout deletes it", func(t *testing.T) {
		if _, _, err := h.client(t, "", "", "logout"); err != nil {
			t.Fatal(err)
		}
		if _, _, err := h.client(t, "", "", "get", "/echo"); !errors.As(err, new(usageError)) {
			t.Errorf("still used: %v", err)
		}
		if _, _, err := h.client(t, "", "", "logout"); err == nil || !strings.Contains(err.Error(), "there is no such profile") {
			t.Errorf("again: %v", err)
		}
	})
}

func TestLoginThatFailsKeepsNothing(t *testing.T) {
	url := service(t, "Service-")
	for _, test := range []struct{ name, stdin, args, want string }{
		{"a credential that the server refuses", "wrong", "--url " + url + "/acme/v2 --key " + key, "invalidRequestSignature"},
		{"no server", secret, "--url http://127.0.0.1:1/acme/v2 --key " + key, "connect"},
		{"no secret", "\n", "--url " + url + "/acme/v2 --key " + key, "no secret"},
		{"no URL", secret, "--key " + key, "--url"},
		{"a URL with a password", secret, "--url http://u:p@127.0.0.1/acme/v2 --key " + key, "without a password"},
		{"a URL of another kind", secret, "--url file:///etc --key " + key, "--url is"},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := newHome(t)
			_, _, err := h.client(t, test.stdin, "", append([]string{"login"}, strings.Fields(test.args)...)...)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v", err)
			}
			if _, err := os.Stat(string(h)); err == nil {
				t.Error("something was written")
			}
		})
	}
}

func TestProfilesThatAreRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("permissions are access lists")
	}
	h, url := newHome(t), service(t, "Service-")
	p := profile{URL: url + "/acme/v2", Key: key, Secret: secret}
	all := profiles{Known: map[string]profile{defaultProfile: p}}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o660, 0o644, 0o620, 0o601} {
		h.keep(t, all)
		if err := os.Chmod(string(h), mode); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"get", "/echo"}, {"get", "--profile", "default", "/echo"}, {"verify", "-"}} {
			if _, _, err := h.client(t, "", "", args...); !errors.Is(err, private.ErrShared) {
				t.Errorf("%v, %v: %v", mode, args, err)
			}
		}
	}
	for name, text := range map[string]string{"no JSON": "{", "no profiles": `{"profiles":null}`, "nothing": ""} {
		h := newHome(t)
		h.keep(t, all)
		if err := os.WriteFile(string(h), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := h.client(t, "", "", "get", "/echo"); err == nil || !strings.Contains(err.Error(), "has no profiles") {
			t.Errorf("%s: %v", name, err)
		}
	}
	t.Run("a symbolic link", func(t *testing.T) {
		h := newHome(t)
		elsewhere := newHome(t)
		elsewhere.keep(t, all)
		if err := errors.Join(os.MkdirAll(filepath.Dir(string(h)), 0o700), os.Symlink(string(elsewhere), string(h))); err != nil {
			t.Fatal(err)
		}
		if _, _, err := h.client(t, "", "", "get", "/echo"); err == nil || !strings.Contains(err.Error(), "symbolic link") {
			t.Errorf("%v", err)
		}
	})
	for _, mode := range []os.FileMode{0o770, 0o707, 0o720, 0o777 | os.ModeSticky} {
		for _, above := range []bool{false, true} {
			t.Run(fmt.Sprintf("in a folder of mode %v, above the profiles: %t", mode, above), func(t *testing.T) {
				h := newHome(t)
				h.keep(t, all)
				folder := filepath.Dir(string(h))
				if above {
					folder = filepath.Dir(folder)
				}
				if err := os.Chmod(folder, mode); err != nil {
					t.Fatal(err)
				}
				for _, args := range []string{
					"get /echo", "get --profile default /echo", "login --url " + p.URL + " --key " + key, "profile list", "profile use default",
				} {
					if _, _, err := h.client(t, secret, "", strings.Fields(args)...); !errors.Is(err, private.ErrSharedFolder) {
						t.Errorf("%s: %v", args, err)
					}
				}
				if _, _, err := h.client(t, "", environment(url), "get", "/echo"); err != nil {
					t.Errorf("also without a profile: %v", err)
				}
			})
		}
	}
	t.Run("a name that nobody has kept", func(t *testing.T) {
		if _, _, err := newHome(t).client(t, "", "", "get", "--profile", "other", "/echo"); !errors.As(err, new(usageError)) {
			t.Errorf("%v", err)
		}
	})
}

func TestLoginAsks(t *testing.T) {
	url := service(t, "Service-") + "/acme/v2"
	for _, test := range []struct {
		name, args string
		asked      int
		ok         bool
	}{
		{"for the secret", "--url " + url + "/ --key " + key, 1, true},
		{"for no secret of a URL that is none", "--url ftp://host --key " + key, 0, false},
		{"for no secret without a key", "--url " + url, 0, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			h, asked := newHome(t), 0
			var out, errs bytes.Buffer
			c := cli{in: strings.NewReader(""), out: &out, errs: &errs, getenv: lookup(""), profiles: string(h)}
			c.askSecret = func(context.Context) (string, error) {
				asked++
				return secret, nil
			}
			err := c.run(t.Context(), append([]string{"login"}, strings.Fields(test.args)...))
			if asked != test.asked || (err == nil) != test.ok {
				t.Fatalf("asked %d times, %v", asked, err)
			}
			if err != nil {
				return
			}
			if p, err := c.readProfiles(); err != nil || p.Known["default"] != (profile{URL: url, Key: key, Secret: secret, Header: "Service-", Version: "1"}) {
				t.Errorf("%+v %v", p, err)
			}
			if want := "client: the URL, the key and the secret are in " + string(h) + "\n"; errs.String() != want {
				t.Errorf("%s", &errs)
			}
		})
	}
}

func TestProfiles(t *testing.T) {
	h, url := newHome(t), service(t, "Service-")
	run := func(want string, args ...string) {
		t.Helper()
		out, errs, err := h.client(t, secret, "", args...)
		if text := out + errs + fmt.Sprintln(err); !strings.Contains(text, want) {
			t.Errorf("%v: no %q in\n%s", args, want, text)
		}
	}
	run("there is no profile; client login keeps one", "profile", "list")
	for _, name := range []string{"acme", "globex"} {
		run("commands without --profile use default; client profile use "+name+" changes that", "login", "--profile", name, "--account", name, "--url", url+"/acme/v2", "--key", key)
	}
	run("URL", "get", "/echo") // there is no profile named default
	run("profile globex: "+url, "profile", "use", "globex")
	run(`"account": "globex"`, "get", "/echo")
	run(`"account": "acme"`, "get", "--profile", "acme", "/echo")
	run("  acme    "+url+"/acme/v2  "+key+"\n* globex  "+url+"/acme/v2  "+key+"\n", "profile", "list")
	run("nope: there is no such profile", "profile", "use", "nope")
	run("accepts 1 arg(s), received 0", "profile", "use")
	run(`unknown command "remov" for "client profile"`, "profile", "remov")
	run("Available Commands:", "profile")
	t.Run("the environment comes before the profile in use", func(t *testing.T) {
		out, _, err := h.client(t, "", environment(url), "get", "/echo")
		if err != nil || !strings.Contains(out, `"account": ""`) {
			t.Errorf("%v %s", err, out)
		}
	})
	run("profile globex deleted; its credential stays valid", "logout")
	run("there is no such profile", "logout", "--profile", "globex")
	run("URL", "get", "/echo")
	run("profile acme deleted", "logout", "--profile", "acme")
	if text, err := os.ReadFile(string(h)); err != nil || strings.Contains(string(text), secret) {
		t.Errorf("left behind: %s %v", text, err)
	}
}

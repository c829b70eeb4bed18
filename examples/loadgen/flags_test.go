package main

import (
	"bytes"
	"errors"
	"maps"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRefusals(t *testing.T) {
	const url = "-url=http://127.0.0.1:1/acme/v2"
	for _, test := range []struct {
		name string
		args []string
		want string
	}{
		{"no server", nil, "URL is needed"},
		{"an argument", []string{url, "now"}, `unexpected argument "now"`},
		{"an unknown flag", []string{url, "-nope"}, "-nope"},
		{"a misspelled flag", []string{url, "-duraton", "10s"}, "not defined: -duraton; loadgen -help lists the flags"},
		{"a duration without its unit", []string{url, "-duration", "10"}, `invalid value "10" for flag -duration`},
		{"another version of signatures", []string{url, "-signature", "3"}, "-signature is 1 or 2"},
		{"more than ten minutes", []string{url, "-duration", "10m1s"}, "-duration"},
		{"no time at all", []string{url, "-duration", "0s"}, "-duration"},
		{"nobody to send", []string{url, "-concurrency", "0"}, "-concurrency"},
		{"too many to send", []string{url, "-concurrency", "513"}, "-concurrency"},
		{"a negative rate", []string{url, "-rate", "-1"}, "-rate"},
		{"a rate that is no number", []string{url, "-rate", "NaN"}, "-rate"},
		{"a rate without end", []string{url, "-rate", "Inf"}, "-rate"},
		{"a path without its slash", []string{url, "-path", "notes"}, "-path"},
		{"a path with a fragment", []string{url, "-path", "/notes#a"}, "-path"},
		{"a mix of nothing", []string{url, "-mix", "signed=0"}, "-mix"},
		{"an empty mix", []string{url, "-mix", ""}, "-mix"},
		{"a mix of something else", []string{url, "-mix", "basic=1"}, "-mix"},
		{"a mix without numbers", []string{url, "-mix", "signed"}, "-mix"},
		{"a negative share", []string{url, "-mix", "signed=2,bearer=-1"}, "-mix"},
		{"a kind named twice", []string{url, "-mix", "signed=2,signed=1"}, "-mix"},
		{"shares without end", []string{url, "-mix", "signed=1000,bearer=1"}, "-mix"},
		{"another machine", []string{"-url", "https://api.example.com/acme/v2"}, "-remote"},
		{"another machine by address", []string{"-url", "http://192.0.2.1/acme/v2"}, "-remote"},
		{"all interfaces", []string{"-url", "http://0.0.0.0:1/acme/v2"}, "-remote"},
		{"a name that begins with localhost", []string{"-url", "http://localhost.example.com/acme/v2"}, "-remote"},
		{"another machine behind this one", []string{url, "-url", "http://192.0.2.1/acme/v2"}, "-remote"},
		{"another org behind the first", []string{url, "-url", "http://127.0.0.1:2/other/v2"}, "instances"},
		{"no URL", []string{"-url", ""}, "-url"},
		{"no path", []string{url, "-path", ""}, "-path"},
		{"a URL that is none", []string{"-url", "127.0.0.1:8080"}, "-url"},
		{"a URL with a password", []string{"-url", "http://ada:aNeverPrintedOne@127.0.0.1/acme/v2"}, "-url"},
	} {
		t.Run(test.name, func(t *testing.T) {
			out, _, err := loadgen(t, t.Context(), test.args...)
			if !errors.As(err, new(usageError)) || !strings.Contains(err.Error(), test.want) || out != "" {
				t.Errorf("%v, printed %q", err, out)
			}
		})
	}
	t.Run("a process that is none", func(t *testing.T) {
		url := new(service).start(t).URL
		if _, _, err := loadgen(t, t.Context(), "-url", url+"/acme/v2", "-concurrency", "1", "-pid", "999999999"); err == nil || !strings.Contains(err.Error(), "-pid") {
			t.Error(err)
		}
	})
}

// parsed reads flags without running the load.
func parsed(t *testing.T, environment map[string]string, args ...string) (options, error) {
	t.Helper()
	return program{out: new(bytes.Buffer), errs: new(bytes.Buffer), getenv: lookup(environment)}.parse(args)
}

func TestLoopback(t *testing.T) {
	for _, url := range []string{"http://127.0.0.1:8080/acme/v2", "http://127.9.9.9/acme/v2", "http://[::1]:8080/acme/v2", "https://localhost/acme/v2", "http://[::ffff:127.0.0.1]/acme/v2"} {
		if _, err := parsed(t, allCredentials, "-url", url); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
	if _, err := parsed(t, allCredentials, "-url", "https://api.example.com/acme/v2", "-remote"); err != nil {
		t.Error(err)
	}
}

// TestDialler checks that addresses are compared, too: the name of this machine may
// resolve to another.
func TestDialler(t *testing.T) {
	for address, allowed := range map[string]bool{
		"127.0.0.1:80": true, "[::1]:80": true, "192.0.2.1:80": false, "[2001:db8::1]:80": false, "0.0.0.0:80": false, "nonsense": false,
	} {
		if err := onlyLoopback("tcp", address, nil); (err == nil) != allowed {
			t.Errorf("%s: %v", address, err)
		}
	}
	at, err := targets([]string{"http://192.0.2.1/acme/v2"}, true)
	if err != nil {
		t.Fatal(err)
	}
	_, err = (&http.Client{Transport: newInstances(&options{at: at})}).Get("http://127.0.0.1/acme/v2")
	if !errors.Is(err, errRemote) {
		t.Error(err)
	}
}

func TestCredentials(t *testing.T) {
	demo := demoFile(t, "http://127.0.0.1:1")
	wrong := map[string]string{
		"TENANTKIT_URL": "http://127.0.0.1:2/w/v2", "TENANTKIT_KEY": "w", "TENANTKIT_SECRET": "w",
		"TENANTKIT_TOKEN": "w", "TENANTKIT_EMAIL": "w", "TENANTKIT_PASSWORD": "w",
	}
	flags := []string{
		"-url", "http://127.0.0.1:1/acme/v2/", "-key", testKey, "-secret", testSecret, "-token", testToken,
		"-email", "ada@example.com", "-password", testPassword,
	}
	for _, test := range []struct {
		name        string
		environment map[string]string
		args        []string
		want        bool
	}{
		{"flags", nil, flags, true},
		{"flags before the environment", wrong, flags, true},
		{"the demo file, by flag", nil, []string{"-demo-json", demo}, true},
		{"the demo file, by environment", map[string]string{"TENANTKIT_DEMO_JSON": demo}, nil, true},
		{"the environment before the demo file", wrong, []string{"-demo-json", demo}, false},
		{"the environment", allCredentials, []string{"-url", "http://127.0.0.1:1/acme/v2"}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			o, err := parsed(t, test.environment, test.args...)
			if err != nil {
				t.Fatal(err)
			}
			got := o.urls[0] == "http://127.0.0.1:1/acme/v2" && o.key == testKey && string(o.secret) == testSecret &&
				string(o.token) == testToken && o.email == "ada@example.com" && string(o.password) == testPassword
			if got != test.want {
				t.Errorf("%+v", o.credentials)
			}
		})
	}
	for _, missing := range []struct{ mix, name string }{
		{"signed=1", "TENANTKIT_SECRET"}, {"bearer=1", "TENANTKIT_TOKEN"}, {"session=1", "TENANTKIT_PASSWORD"},
	} {
		only := map[string]string{"TENANTKIT_URL": "http://127.0.0.1:1/acme/v2"}
		for name, value := range allCredentials {
			if name != missing.name {
				only[name] = value
			}
		}
		if _, err := parsed(t, only, "-mix", missing.mix); !errors.As(err, new(usageError)) {
			t.Errorf("%s without %s: %v", missing.mix, missing.name, err)
		}
	}
	if _, err := parsed(t, nil, "-demo-json", os.DevNull); err == nil {
		t.Error("a demo file that is none was read")
	}
}

// TestRound checks that each share of a kind is one request for each path.
func TestRound(t *testing.T) {
	o, err := parsed(t, allCredentials, "-url", "http://127.0.0.1:1/acme/v2", "-mix", "session=1,signed=2,bearer=0", "-path", "/a", "-path", "/b?x[]=1")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, target := range o.round() {
		got = append(got, target.Method+" "+strings.TrimPrefix(target.URL, "http://127.0.0.1:1/acme/v2"))
	}
	want := []string{"GET /a#signed", "GET /b?x[]=1#signed", "GET /a#signed", "GET /b?x[]=1#signed", "GET /a#session", "GET /b?x[]=1#session"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestHelp(t *testing.T) {
	for _, name := range []string{"-h", "-help", "--help"} {
		out, _, err := loadgen(t, t.Context(), name)
		if err != nil || !strings.HasPrefix(out, help) || !strings.Contains(out, "-concurrency requests") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	t.Run("what it shows can be parsed", func(t *testing.T) {
		demo := demoFile(t, "http://127.0.0.1:1")
		shown := 0
		for line := range strings.Lines(help) {
			line, _, _ = strings.Cut(strings.TrimSpace(line), "  ")
			line, _, _ = strings.Cut(line, " > ")
			words := strings.Fields(strings.NewReplacer("go run ./examples/loadgen", "loadgen", "FILE", demo, "/tmp/demo.json", demo).Replace(line))
			if len(words) < 2 || words[0] != "loadgen" || !strings.HasPrefix(words[1], "-") {
				continue
			}
			shown++
			if _, err := parsed(t, nil, words[1:]...); err != nil {
				t.Errorf("%s: %v", line, err)
			}
		}
		if shown != 6 {
			t.Errorf("%d lines", shown)
		}
	})
}

func TestVersion(t *testing.T) {
	out, _, err := loadgen(t, t.Context(), "-version")
	if err != nil || !strings.HasPrefix(out, "loadgen ") || strings.Count(out, "\n") != 1 {
		t.Errorf("%v %q", err, out)
	}
}

func TestStatus(t *testing.T) {
	for _, test := range []struct {
		err  error
		want int
	}{{nil, 0}, {errFaults, 1}, {errors.New("another"), 1}, {usageError("so not"), 2}} {
		p := program{errs: new(bytes.Buffer)}
		if got := p.status(test.err); got != test.want {
			t.Errorf("%v: %d", test.err, got)
		}
	}
}

// FuzzMix reads back what a mix prints.
func FuzzMix(f *testing.F) {
	for _, text := range []string{"signed=1,bearer=1,session=1", "signed=4,bearer=2", "session=0", "signed", "signed=1,signed=1", "bearer=999,signed=1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var m, again mix
		if m.Set(text) != nil {
			return
		}
		if err := again.Set(m.String()); err != nil || !maps.Equal(again, m) {
			t.Fatalf("%q is printed as %q: %v", text, m.String(), err)
		}
	})
}

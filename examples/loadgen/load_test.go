package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	vegeta "github.com/tsenart/vegeta/v12/lib"
)

func TestLoad(t *testing.T) {
	s := new(service)
	url := s.start(t).URL + "/acme/v2"
	r, err := measured(t, "-url", url+"/", "-duration", "1s", "-concurrency", "3", "-path", "/a?x[]=1", "-path", "/b")
	if err != nil || r.Failed != 0 || len(r.Errors) != 0 {
		t.Fatalf("%v: %+v", err, r)
	}
	sum := 0
	for _, k := range []string{"signed", "bearer", "session"} {
		part := r.Kinds[k]
		sum += int(part.Requests)
		if n := s.count(k); n == 0 || n != int(part.Requests) {
			t.Errorf("%s: %d reported, %d answered", k, part.Requests, n)
		}
		l := part.Latency
		if !(0 < l.P50 && l.P50 <= l.P90 && l.P90 <= l.Max && (l.P99 == 0) == (part.Requests < 100) && (l.P999 == 0) == (part.Requests < 1000)) {
			t.Errorf("%s: %+v", k, l)
		}
	}
	if sum != int(r.Requests) || s.count("/a") == 0 || s.count("/b") == 0 || r.Seconds < 1 {
		t.Errorf("%d requests of %d in %g s, %v", sum, r.Requests, r.Seconds, s.seen)
	}
	if s.logins != 3 || s.sessions != 0 {
		t.Errorf("%d logins of 3 workers, %d not ended", s.logins, s.sessions)
	}
}

func TestLoadOfOneKind(t *testing.T) {
	s := new(service)
	url := s.start(t).URL
	r, err := measured(t, "-demo-json", demoFile(t, url), "-duration", "1s", "-mix", "bearer=1")
	if err != nil || len(r.Kinds) != 1 || r.Kinds["bearer"].Requests == 0 || s.logins != 0 {
		t.Errorf("%v, %d logins: %+v", err, s.logins, r)
	}
	if s.count("/accounts/me") == 0 || s.count("/c_messages") == 0 {
		t.Errorf("the paths of the reference server were not asked: %v", s.seen)
	}
}

func TestLoadOfInstances(t *testing.T) {
	s := new(service)
	a, b := s.start(t).URL, s.start(t).URL
	r, err := measured(t, "-url", a+"/acme/v2", "-url", b+"/acme/v2", "-duration", "200ms", "-concurrency", "2")
	if err != nil {
		t.Fatal(err)
	}
	inA, inB := s.count(strings.TrimPrefix(a, "http://")), s.count(strings.TrimPrefix(b, "http://"))
	if inA+inB != int(r.Requests) || inA-inB > 10 || inB-inA > 10 {
		t.Errorf("%d and %d of %d", inA, inB, r.Requests)
	}
}

func TestLoadAtARate(t *testing.T) {
	t.Run("is not passed", func(t *testing.T) {
		url := new(service).start(t).URL
		r, err := measured(t, "-url", url+"/acme/v2", "-duration", "500ms", "-rate", "100")
		if err != nil || r.Requests == 0 || r.Requests > 50 {
			t.Errorf("%v, %d requests", err, r.Requests)
		}
	})
	t.Run("is timed from when a request was due", func(t *testing.T) {
		url := (&service{pause: 50 * time.Millisecond}).start(t).URL
		r, err := measured(t, "-url", url+"/acme/v2", "-duration", "500ms", "-rate", "100", "-concurrency", "1", "-mix", "signed=1")
		if err != nil || r.Requests > 11 || r.Latency.Max < 300 {
			t.Errorf("%v: %+v", err, r)
		}
	})
}

func TestLoadWithFaults(t *testing.T) {
	third := func(n int) string {
		if n%3 == 0 {
			return "acme.error.storeUnavailable"
		}
		return ""
	}
	s := &service{fail: third}
	args := []string{"-url", s.start(t).URL + "/acme/v2", "-duration", "1s"}
	t.Run("by code", func(t *testing.T) {
		r, err := measured(t, args...)
		if !errors.Is(err, errFaults) || r.Failed == 0 {
			t.Fatalf("%v: %+v", err, r)
		}
		if diff := cmp.Diff(map[string]uint64{"error.storeUnavailable": r.Failed}, r.Errors); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("allowed", func(t *testing.T) {
		if _, err := measured(t, append(args, "-max-failed", "1000000")...); err != nil {
			t.Error(err)
		}
	})
	t.Run("too slow", func(t *testing.T) {
		_, err := measured(t, append(args, "-max-failed", "1000000", "-max-p99", "1ns")...)
		if err == nil || errors.Is(err, errFaults) || !strings.Contains(err.Error(), "-max-p99 is 1ns") {
			t.Error(err)
		}
	})
	t.Run("in the text", func(t *testing.T) {
		out, errs, err := loadgen(t, t.Context(), args...)
		if !errors.Is(err, errFaults) || errs != "" {
			t.Errorf("%v, %q", err, errs)
		}
		for _, want := range []string{" failed\n", "signed ", "bearer ", "session ", "p99.9", "at most", "failed:\n", "error.storeUnavailable"} {
			if !strings.Contains(out, want) {
				t.Errorf("no %q in\n%s", want, out)
			}
		}
	})
}

func TestLoadWithoutAServer(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	t.Run("to log in", func(t *testing.T) {
		if _, _, err := loadgen(t, t.Context(), "-url", gone.URL+"/acme/v2"); err == nil || !strings.Contains(err.Error(), loginPath) {
			t.Error(err)
		}
	})
	t.Run("to send to", func(t *testing.T) {
		r, err := measured(t, "-url", gone.URL+"/acme/v2", "-duration", "500ms", "-mix", "signed=1,bearer=1")
		if !errors.Is(err, errFaults) || r.Errors["connection refused"] != r.Requests {
			t.Errorf("%v: %+v", err, r)
		}
	})
	t.Run("of this kind", func(t *testing.T) {
		page := httptest.NewServer(http.NotFoundHandler())
		t.Cleanup(page.Close)
		r, err := measured(t, "-url", page.URL+"/acme/v2", "-duration", "500ms", "-mix", "bearer=1")
		if !errors.Is(err, errFaults) || r.Errors["reply 404 without a fault or JSON"] != r.Requests {
			t.Errorf("%v: %+v", err, r)
		}
	})
	t.Run("with the wrong password", func(t *testing.T) {
		url := new(service).start(t).URL
		_, _, err := loadgen(t, t.Context(), "-url", url+"/acme/v2", "-password", "wrong")
		if err == nil || !strings.Contains(err.Error(), "accessDenied.invalidCredentials") {
			t.Error(err)
		}
	})
}

// TestInterrupt ends a run early. The run waits for the requests in flight, prints
// its report and does not fail.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &service{pause: 30 * time.Millisecond, fail: func(n int) string {
		if n == 10 {
			cancel() // while the load is under way
		}
		return ""
	}}
	url := s.start(t).URL
	began := time.Now()
	out, _, err := loadgen(t, ctx, "-url", url+"/acme/v2", "-duration", "5m", "-concurrency", "2")
	if err != nil || !strings.Contains(out, " 0 failed") || time.Since(began) > time.Minute {
		t.Errorf("%v after %v\n%s", err, time.Since(began), out)
	}
	if s.sessions != 0 {
		t.Errorf("%d sessions left", s.sessions)
	}
}

// TestInterruptAtLogin ends a run before the load. No session must be left.
func TestInterruptAtLogin(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &service{loggedIn: cancel}
	url := s.start(t).URL
	_, _, err := loadgen(t, ctx, "-url", url+"/acme/v2", "-concurrency", "5")
	if !errors.Is(err, context.Canceled) || s.logins != 1 || s.sessions != 0 {
		t.Errorf("%v: %d logins, %d sessions left", err, s.logins, s.sessions)
	}
}

func TestCPUIsOfTheRequestsThatOneInstanceGets(t *testing.T) {
	for count, want := range map[int]float64{1: 2, 3: 6} {
		l := &load{o: options{mix: mix{bearer: 1}}, to: &instances{at: make([]*url.URL, count)}, tallies: map[string]tally{bearer: newTally()}}
		for range 1000 {
			l.tallies[bearer].add(time.Millisecond, "")
		}
		if got := l.report(usage{cpu: time.Second}, usage{rss: 1, cpu: 3 * time.Second}).CPU; got != want {
			t.Errorf("%d instances: %v ms, want %v", count, got, want)
		}
	}
}

func TestWatchedProcess(t *testing.T) {
	url := new(service).start(t).URL
	var out, errs bytes.Buffer
	p := program{out: &out, errs: &errs, getenv: lookup(allCredentials)}
	if err := p.run(t.Context(), []string{"-url", url + "/acme/v2", "-duration", "1500ms", "-rate", "100", "-pid", fmt.Sprint(os.Getpid())}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "resident memory in MiB: first ") || !strings.Contains(out.String(), "CPU of the process for each request in ms: ") {
		t.Errorf("%s", out.String())
	}
}

func TestCodes(t *testing.T) {
	const fault = `{"object":"fault","errCode":"service.expired.jwt","status":401}`
	for _, test := range []struct {
		name, want string
		result     vegeta.Result
	}{
		{"JSON", "", vegeta.Result{Code: 200, Body: []byte(`{}`)}},
		{"a fault", "expired.jwt", vegeta.Result{Code: 401, Body: []byte(fault)}},
		{"a fault behind a 200", "expired.jwt", vegeta.Result{Code: 200, Body: []byte(fault)}},
		{"a page of HTML", "reply 502 without a fault or JSON", vegeta.Result{Code: 502, Body: []byte("<h1>")}},
		{"half a reply in time", "context deadline exceeded", vegeta.Result{Error: "context deadline exceeded"}},
		{"an address that is refused", "connection refused", vegeta.Result{Error: `Get "http://127.0.0.1:1/a#signed": dial tcp 127.0.0.1:1: connect: connection refused`}},
		{"an address in a text", "EOF", vegeta.Result{Error: `Get "http://127.0.0.1:1/a#signed": EOF`}},
	} {
		if got := codeOf(&test.result); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// TestTallyIsBounded checks that a tally stays small, whatever a server invents.
func TestTallyIsBounded(t *testing.T) {
	tally := newTally()
	for n := range 1000 {
		tally.add(math.MaxInt64, fmt.Sprintf("number %d", n))
	}
	tally.add(-1, "") // a clock can go back
	if len(tally.failed) != maxCodes+1 || tally.failed["others"] != 1000-maxCodes || tally.part(1).Failed != 1000 {
		t.Errorf("%d codes, %d others", len(tally.failed), tally.failed["others"])
	}
	if most := time.Duration(tally.times.Max()); tally.times.TotalCount() != 1001 || most < longest || most > longest+longest/1000 {
		t.Errorf("%d durations, the longest %v", tally.times.TotalCount(), most)
	}
}

// TestPlot draws a run. A file that cannot be written is refused before it.
func TestPlot(t *testing.T) {
	url, folder := new(service).start(t).URL+"/acme/v2", t.TempDir()
	page := filepath.Join(folder, "run.html")
	if _, _, err := loadgen(t, t.Context(), "-url", url, "-duration", "1s", "-mix", "bearer=1", "-plot", page); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(text), "bearer") || strings.Contains(string(text), testToken) {
		t.Errorf("%v, %d bytes", err, len(text))
	}
	s := new(service)
	_, _, err = loadgen(t, t.Context(), "-url", s.start(t).URL+"/acme/v2", "-plot", filepath.Join(folder, "none", "run.html"))
	if err == nil || !strings.Contains(err.Error(), "-plot") || s.logins+s.n > 0 {
		t.Errorf("%v, %d requests", err, s.logins+s.n)
	}
}

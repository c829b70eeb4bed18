package enginetest

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

// testEvents watches the logins of an instance while somebody logs in on all others, and on this one. SQLite has
// nothing by which instances could reach each other.
func (f *fleet) testEvents(t *testing.T, reaches bool) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	w := f.signed("GET", "/events?verb=login.wrong", "")
	r, err := http.NewRequestWithContext(ctx, w.method, f.instances[0].url+"/acme/v2"+w.path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = w.header
	reply, err := http.DefaultClient.Do(r)
	if err != nil || reply.StatusCode != http.StatusOK {
		t.Fatal(reply, err)
	}
	defer reply.Body.Close()
	lines := bufio.NewScanner(reply.Body)
	if !reaches {
		time.Sleep(2 * time.Second) // longer than another instance needs
	}
	heard := map[string]bool{}
	sent := map[string]int{} // the instance, by the id of the request
	for len(heard) < len(f.instances) {
		for at := range f.instances {
			body := `{"email":"nobody` + time.Now().Format("150405.000") + `@example.com","password":"a wrong password"}`
			got := f.send(t, at, wish{"POST", "/accounts/login", body, nil})
			sent[got.header.Get("Request-Id")] = at
		}
		for len(heard) < len(f.instances) && lines.Scan() && lines.Text() != ":" { // a comment comes every two seconds
			var e struct{ RequestID, Verb string }
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok {
				continue
			}
			if err := json.Unmarshal([]byte(data), &e); err != nil || e.Verb != "login.wrong" {
				t.Fatalf("%v: %s", err, data)
			}
			if at, ours := sent[e.RequestID]; ours {
				heard[f.instances[at].url] = true
			}
		}
		if ctx.Err() != nil || !reaches && heard[f.instances[0].url] {
			break
		}
	}
	if reaches && len(heard) != len(f.instances) || !reaches && len(heard) != 1 {
		t.Errorf("events of %d instances", len(heard))
	}
}

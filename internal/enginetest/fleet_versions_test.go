package enginetest

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// testVersionsUnderLoad sends different requests of both versions at once, each of them to all
// instances. Each must be accepted once (I1), and what it asks for must be done once.
func (f *fleet) testVersionsUnderLoad(t *testing.T) {
	const each = 50 // requests of a kind; a page holds 100 messages
	var all []wish
	for n := range each {
		body := fmt.Sprintf(`{"c_text":"under load %d"}`, n)
		all = append(all,
			f.signed("GET", "/accounts/me", ""),
			f.signed("POST", "/c_messages", body),
			f.signedSecond(t, "GET", "/accounts/me", ""),
			f.signedSecond(t, "POST", "/c_messages", body),
		)
	}
	accepted, unclear := f.sendToAll(t, all)
	for i, n := range accepted {
		switch {
		case n > 1:
			t.Errorf("I1 %s %v: accepted %d times", all[i].method, all[i].header, n)
		case n == 0 && !unclear[i]:
			t.Errorf("%s %v: never accepted", all[i].method, all[i].header)
		}
	}
	list := f.send(t, 0, f.signedSecond(t, "GET", `/c_messages?limit=100&where={"c_text":{"$gt":"under%20load","$lt":"under%20loae"}}&paths[]=c_text`, ""))
	if list.status != http.StatusOK {
		t.Fatalf("%d %s", list.status, list.body)
	}
	for n := range each {
		made := strings.Count(string(list.body), fmt.Sprintf(`"under load %d"`, n))
		if made > 2 || made < 2 && !unclear[4*n+1] && !unclear[4*n+3] {
			t.Errorf("message %d was made %d times, want 2: one by each version", n, made)
		}
	}
}

// sendToAll sends each wish once to each instance, in random order. It counts how often each was
// accepted, and notes those whose outcome is not known because a store was too slow.
func (f *fleet) sendToAll(t *testing.T, all []wish) (accepted []int, unclear []bool) {
	t.Helper()
	accepted, unclear = make([]int, len(all)), make([]bool, len(all))
	client := &http.Client{Timeout: patience, Transport: &http.Transport{MaxIdleConnsPerHost: 24}}
	defer client.CloseIdleConnections()
	var mu sync.Mutex
	var wait sync.WaitGroup
	gate := make(chan struct{}, 24)
	for _, turn := range rand.Perm(len(all) * len(f.instances)) {
		gate <- struct{}{}
		wait.Go(func() {
			defer func() { <-gate }()
			i := turn % len(all)
			got := f.sendBy(t, client, turn/len(all), all[i])
			mu.Lock()
			defer mu.Unlock()
			switch outcome := fmt.Sprintf("%d %s", got.status, got.detail); outcome {
			case ok:
				accepted[i]++
			case unavailable:
				unclear[i] = true
			case "401 accessDenied.replayedRequest":
			default:
				t.Errorf("%s %s: %s", all[i].method, all[i].path, outcome)
			}
		})
	}
	wait.Wait()
	return accepted, unclear
}

// testVersionIsRaised sets the lowest version of a key. No instance may then accept version 1 from
// it, and each must still accept version 2.
func (f *fleet) testVersionIsRaised(t *testing.T) {
	app := f.send(t, 0, f.signed("POST", "/apps", `{"name":"x","credential":{"account":"`+f.facts["account_id"]+`"}}`))
	clientKey, secret := app.id(), app.text("secret")
	first := func() wish { return f.signedBy(clientKey, secret, "GET", "/accounts/me", "") }
	second := func() wish { return f.signedSecondBy(t, clientKey, secret, "GET", "/accounts/me", "") }
	f.warm(t, first)
	f.warm(t, second)
	if got := f.send(t, 0, f.signed("PATCH", "/apps/"+clientKey, `{"credential":{"minVersion":2}}`)); got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.body)
	}
	for at := range f.instances {
		got := f.send(t, at, first())
		if got.status != http.StatusUnauthorized || !strings.Contains(got.header.Get("WWW-Authenticate"), `error="version"`) {
			t.Errorf("version 1: %d %s", got.status, got.body)
		}
	}
	f.warm(t, second)
}

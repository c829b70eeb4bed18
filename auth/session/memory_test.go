package session_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/storetest"
)

// steps is a clock that moves only when a test advances it.
type steps struct {
	mu sync.Mutex
	at time.Time
}

func (s *steps) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at
}

func (s *steps) Pass(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = s.at.Add(d)
}

func TestMemory(t *testing.T) {
	clock := &steps{at: time.Date(2031, 4, 5, 6, 7, 8, 9e6, time.UTC)}
	for _, c := range []struct {
		name     string
		memory   *session.Memory
		features storetest.Features
	}{
		{"on the wall clock", new(session.Memory), storetest.Features{}},
		{"on a clock of its own", &session.Memory{Now: clock.Now}, storetest.Features{Now: clock.Now, Pass: clock.Pass}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.memory.Now == nil && os.Getenv("LONG") == "" {
				t.Skip("waits 10 s for the wall clock; LONG=1 runs it")
			}
			t.Run("sessions", func(t *testing.T) {
				storetest.Sessions(t, func(*testing.T) session.Store { return c.memory.Sessions() }, c.features)
			})
			t.Run("attempts", func(t *testing.T) {
				storetest.Attempts(t, func(*testing.T) session.Attempts { return c.memory.Attempts() }, c.features)
			})
			t.Run("factors", func(t *testing.T) {
				storetest.Factors(t, func(*testing.T) session.FactorStore { return c.memory.Factors() }, c.features)
			})
		})
	}
}

func numbered(n int, now time.Time) session.Session {
	s := session.Session{
		ID: fmt.Sprintf("%032x", n), Org: "acme", Account: fmt.Sprint("account-", n),
		Created: now, Authenticated: now, Seen: now, Expires: now.Add(time.Second),
	}
	copy(s.Hash[:], s.ID)
	return s
}

func TestMemoryForgetsSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := new(session.Memory)
		for i := range 10_000 {
			s := numbered(i, time.Now())
			s.Account = "ann" // all but three are evicted
			if err := m.Sessions().Create(t.Context(), s, 3); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Millisecond)
		}
		// 100 have not ended. sweep keeps the number of ended ones low.
		if records, accounts, previous := m.Len(); records > 400 || accounts > 1 || previous > 0 {
			t.Errorf("%d records, %d accounts, %d hashes before", records, accounts, previous)
		}
	})
}

func TestMemoryForgetsHashesAndAccounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := new(session.Memory)
		for i := range 5000 {
			s := numbered(i, time.Now())
			if err := m.Sessions().Create(t.Context(), s, 0); err != nil {
				t.Fatal(err)
			}
			old := s.Hash
			s.Hash[0] = 1
			if err := m.Sessions().Replace(t.Context(), s.Org, old, s); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Millisecond)
		}
		if records, accounts, previous := m.Len(); records > 400 || accounts > 400 || previous > 400 {
			t.Errorf("%d records, %d accounts, %d hashes before", records, accounts, previous)
		}
		if _, err := m.Sessions().DeleteOrg(t.Context(), "acme"); err != nil {
			t.Fatal(err)
		}
		if records, accounts, previous := m.Len(); records+accounts+previous > 0 {
			t.Errorf("after all are ended: %d records, %d accounts, %d hashes before", records, accounts, previous)
		}
	})
}

func TestMemoryForgetsAttemptsAfterADay(t *testing.T) {
	now := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	m := &session.Memory{Now: func() time.Time { return now }}
	for i := range 10_000 {
		if done, err := m.Attempts().Swap(t.Context(), "acme", fmt.Sprint(i), "", "1"); !done || err != nil {
			t.Fatalf("Swap = %t, %v", done, err)
		}
		now = now.Add(24 * time.Hour / 100)
	}
	if n := m.Counts(); n > 400 {
		t.Errorf("%d counts are kept, of which 100 are younger than a day", n)
	}
}

func TestMemoryCreateRefusesWhatIsNotNew(t *testing.T) {
	m, now := new(session.Memory), time.Now()
	first := numbered(1, now.Add(time.Hour))
	if err := m.Sessions().Create(t.Context(), first, 0); err != nil {
		t.Fatal(err)
	}
	hash, id := numbered(2, now.Add(time.Hour)), numbered(3, now.Add(time.Hour))
	hash.Hash, id.ID, id.Account = first.Hash, first.ID, first.Account
	for name, s := range map[string]session.Session{"hash": hash, "id": id} {
		if err := m.Sessions().Create(t.Context(), s, 1); err == nil || errors.Is(err, auth.ErrNotFound) {
			t.Errorf("the same %s: %v", name, err)
		}
	}
	if err := m.Sessions().Replace(t.Context(), first.Org, first.Hash, first); err == nil {
		t.Error("Replace by the same hash: no error")
	}
	if got, err := m.Sessions().Get(t.Context(), first.Org, first.Hash); err != nil || got.Account != first.Account {
		t.Errorf("Get = %+v, %v", got, err)
	}
}

func TestMemoryGetAllocatesNothing(t *testing.T) {
	m := new(session.Memory)
	s := numbered(1, time.Now().Add(time.Hour))
	s.Agent = strings.Repeat("a", 256)
	if err := m.Sessions().Create(t.Context(), s, 0); err != nil {
		t.Fatal(err)
	}
	ctx, unknown := t.Context(), numbered(2, time.Now()).Hash
	if n := testing.AllocsPerRun(100, func() { m.Sessions().Get(ctx, s.Org, s.Hash); m.Sessions().Get(ctx, s.Org, unknown) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

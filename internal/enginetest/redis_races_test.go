package enginetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/token"
)

// TestRedisLogoutWins races slow requests with a logout over another connection.
func TestRedisLogoutWins(t *testing.T) {
	leftToTheGate(t)
	t.Parallel()
	s := startRedis(t)
	slow := startProxy(t, s.addr())
	requests, logouts := storesAt(t, slow.addr()).sessions, storesAt(t, s.addr()).sessions
	slow.set(false, 200*time.Microsecond)
	for round := range 1000 {
		one, next := sessionOf(fmt.Sprint("F03 one", round)), sessionOf(fmt.Sprint("F03 next", round))
		expect(t, "create", logouts.Create(t.Context(), one, 3), nil)
		var wg sync.WaitGroup
		race := func(call func() error) {
			wg.Go(func() {
				if err := call(); err != nil && !errors.Is(err, auth.ErrNotFound) {
					t.Errorf("F03 round %d: %v", round, err)
				}
			})
		}
		race(func() error { return requests.Touch(t.Context(), one.Org, one.Hash, time.Now()) })
		race(func() error { return requests.Replace(t.Context(), one.Org, one.Hash, next) })
		race(func() error { return requests.Touch(t.Context(), next.Org, next.Hash, time.Now()) })
		time.Sleep(time.Duration(round%10) * 50 * time.Microsecond)
		expect(t, "logout", logouts.Delete(t.Context(), one.Org, one.Hash), nil)
		for _, hash := range [][32]byte{one.Hash, next.Hash} {
			if _, err := requests.Get(t.Context(), "acme", hash); !errors.Is(err, auth.ErrNotFound) {
				t.Errorf("F03 round %d, after the logout: %v", round, err)
			}
		}
		wg.Wait()
		list, err := logouts.List(t.Context(), "acme", "ann")
		if err != nil || len(list) > 0 {
			t.Fatalf("F03 round %d: %d sessions came back, %v", round, len(list), err)
		}
	}
	if keys := s.keys(t); keys != nil {
		t.Errorf("left: %s", keys)
	}
}

// TestRedisRevocationWins races uses with a revocation over another connection.
func TestRedisRevocationWins(t *testing.T) {
	leftToTheGate(t)
	t.Parallel()
	s := startRedis(t)
	slow := startProxy(t, s.addr())
	requests, admin := storesAt(t, slow.addr()).ledger, storesAt(t, s.addr()).ledger
	slow.set(false, 200*time.Microsecond)
	for round := range 1000 {
		r := tokenOf(fmt.Sprint("T20 ", round), int64(round%3)*50)
		expect(t, "issue", admin.Issue(t.Context(), r, nil, 3), nil)
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if err := spend(t.Context(), requests, r); err != nil && !errors.Is(err, token.ErrRevoked) {
					t.Errorf("T20 round %d: %v", round, err)
				}
			})
		}
		time.Sleep(time.Duration(round%10) * 50 * time.Microsecond)
		if round%2 == 0 {
			expect(t, "revoke", admin.Revoke(t.Context(), r.Holder(), r.ID), nil)
		} else if n, err := admin.RevokeSubject(t.Context(), r.Holder()); n != 1 || err != nil {
			t.Errorf("T20 round %d: revoked %d, %v", round, n, err)
		}
		if err := spend(t.Context(), requests, r); !errors.Is(err, token.ErrRevoked) {
			t.Errorf("T20 round %d, after the revocation: %v", round, err)
		}
		wg.Wait()
	}
	if keys := s.keys(t); keys != nil {
		t.Errorf("left: %s", keys)
	}
}

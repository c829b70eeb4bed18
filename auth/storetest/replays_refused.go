package storetest

import (
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/internal/suite"
	"github.com/tenantkit/tenantkit/signing"
)

func testRefusedIsNotRecorded(t *testing.T, r *suite.Replays) {
	for _, c := range []struct {
		name   string
		refuse func(t *testing.T, u signing.Use) error
	}{
		{"past its retention", func(t *testing.T, u signing.Use) error {
			u.Keep = r.Time().Add(-time.Minute)
			err := r.Store.Claim(t.Context(), u)
			suite.Expect(t, "past its retention", err, signing.ErrStale)
			return err
		}},
		{"with a context that has ended", func(t *testing.T, u signing.Use) error {
			return r.Store.Claim(suite.Ended(t), u)
		}},
		{"with a nonce too short", func(t *testing.T, u signing.Use) error {
			u.Nonce = u.Nonce[1:]
			return r.Store.Claim(t.Context(), u)
		}},
		{"with a nonce too long", func(t *testing.T, u signing.Use) error {
			u.Nonce += "0"
			return r.Store.Claim(t.Context(), u)
		}},
		{"by another client key", func(t *testing.T, u signing.Use) error {
			u.ClientKey = suite.Random()
			suite.Expect(t, "first", r.Store.Claim(t.Context(), u), nil)
			return r.Store.Claim(t.Context(), u)
		}},
	} {
		u := r.Fresh()
		if c.refuse(t, u) == nil {
			t.Errorf("%s: accepted", c.name)
		}
		r.Claims(t, c.name+", then the honest request", u, nil)
	}
}

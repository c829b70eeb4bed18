package enginetest

import (
	"context"
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/signing"
)

// BenchmarkAudited alternates verbs with and without an audit log, so that other load on the machine
// affects both, and reports medians. Target: 1.3 times.
func BenchmarkAudited(b *testing.B) {
	_, secret := signing.Generate()
	for name, verb := range map[string]func(ctx context.Context, s *sqlstore.Store, org auth.OrgKey) error{
		"issue a token": func(ctx context.Context, s *sqlstore.Store, org auth.OrgKey) error {
			r := recordOf(org, rand.Text())
			r.Subject = rand.Text()
			return s.Ledger().Issue(ctx, r, nil, 10)
		},
		"open a session": func(ctx context.Context, s *sqlstore.Store, org auth.OrgKey) error {
			n := sessionOf(rand.Text())
			n.Org, n.Account, n.ID = org, rand.Text(), rand.Text()
			return s.Sessions().Create(ctx, n, 10)
		},
		"end sessions": func(ctx context.Context, s *sqlstore.Store, org auth.OrgKey) error {
			_, err := s.Sessions().DeleteAll(ctx, org, "bench", "")
			return err
		},
		"rotate a secret": func(ctx context.Context, s *sqlstore.Store, org auth.OrgKey) error {
			c, err := s.Credentials()
			if err == nil {
				_, err = c.Rotate(ctx, org, clientKeyOf(org), time.Hour)
			}
			return err
		},
		"expose a key": func(ctx context.Context, s *sqlstore.Store, org auth.OrgKey) error {
			k, err := s.Keys()
			if err == nil {
				err = k.Expose(ctx, org, clientKeyOf(org), true)
			}
			return err
		},
	} {
		for _, h := range homes(b) {
			b.Run(name+"/"+h.name, func(b *testing.B) {
				db := h.open(b)
				plain := h.storeIn(b, db)
				h.audited = true
				audited := h.storeIn(b, db)
				c, k := must(plain.Credentials())(b), must(plain.Keys())(b)
				for _, org := range []auth.OrgKey{"p", "a"} {
					if err := c.Put(b.Context(), org, clientKeyOf(org), secret, signature.Credential{Account: "ann"}); err != nil {
						b.Fatal(err)
					}
					must(k.Ensure(b.Context(), org, clientKeyOf(org)))(b)
				}
				var without, with []time.Duration
				run := func(s *sqlstore.Store, org auth.OrgKey) time.Duration {
					n := sessionOf(rand.Text())
					n.Org, n.Account, n.ID = org, "bench", rand.Text()
					if name == "end sessions" {
						if err := plain.Sessions().Create(b.Context(), n, 0); err != nil {
							b.Fatal(err)
						}
					}
					start := time.Now()
					if err := verb(b.Context(), s, org); err != nil {
						b.Fatal(err)
					}
					return time.Since(start)
				}
				for b.Loop() {
					without, with = append(without, run(plain, "p")), append(with, run(audited, "a"))
				}
				b.ReportMetric(float64(median(without).Microseconds()), "µs/plain")
				b.ReportMetric(float64(median(with).Microseconds()), "µs/audited")
				b.ReportMetric(float64(median(with))/float64(median(without)), "audited/plain")
			})
		}
	}
}

var _ = fmt.Sprint
var _ session.Session

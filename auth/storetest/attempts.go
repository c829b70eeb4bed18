package storetest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"testing"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/internal/suite"
)

// Attempts checks the contract of session.Attempts. Each subtest opens a store, and
// uses keys that no other subtest uses.
func Attempts(t *testing.T, open func(t *testing.T) session.Attempts, f Features) {
	suite.Run(t, suite.Tests[func(*register[string])]{
		{"a key without a record", (*register[string]).none},
		{"a record is what was set", attemptsSet},
		{"only the record that was read is replaced", (*register[string]).conflict},
		{"orgs and keys are apart", (*register[string]).apart},
		{"what is a person's is no org's", (*register[string]).person},
		{"a context that has ended", (*register[string]).cancelled},
		{"F08 64 swaps of one record", (*register[string]).race},
	}, func(t *testing.T, test func(*register[string])) {
		store, key, second := open(t), newKey(), newKey()
		test(&register[string]{T: t, Cast: suite.NewCast(suite.Features(f)), load: store.Load, lost: errLost, fresh: rand.Text,
			swap: func(ctx context.Context, org auth.OrgKey, key, old, next string) (string, error) {
				done, err := store.Swap(ctx, org, key, old, next)
				if err == nil && !done {
					err = errLost
				}
				return next, err
			},
			show:   func(record string) string { return record },
			others: func(now string) []string { return []string{now + " ", now + "0"} },
			key:    key, keys: [][2]string{{"", key}, {"", second}, {"-2", key}}})
	})
}

var errLost = errors.New("another one has won")

// newKey returns a key in the form that the Manager makes.
func newKey() string { return fmt.Sprintf("%x", suite.NewHash()) }

func attemptsSet(r *register[string]) {
	const long = "2147483647 9223372036854775807 9223372036854775807 and some more"
	old := ""
	for _, record := range []string{"1", long, long, "1 2 3", "", "", "1"} {
		old = r.set(r.key, old, record)
	}
}

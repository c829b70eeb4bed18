package storetest

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/internal/suite"
)

// Attempts checks the contract of session.Attempts. Each subtest opens a store, and
// uses keys that no other subtest uses.
func Attempts(t *testing.T, open func(t *testing.T) session.Attempts, f Features) {
	suite.Run(t, suite.Tests[func(*attemptTest)]{
		{"a record is what was set", (*attemptTest).set},
		{"only the record that was read is replaced", (*attemptTest).conflict},
		{"orgs and keys are apart", (*attemptTest).apart},
		{"what is a person's is no org's", (*attemptTest).person},
		{"a context that has ended", (*attemptTest).cancelled},
		{"F08 64 swaps of one record", (*attemptTest).race},
	}, func(t *testing.T, test func(*attemptTest)) {
		test(&attemptTest{T: t, store: open(t), Cast: suite.NewCast(suite.Features(f)), key: newKey()})
	})
}

type attemptTest struct {
	*testing.T
	suite.Cast
	store session.Attempts
	key   string
}

// newKey returns a key in the form that the Manager makes.
func newKey() string {
	sum := sha256.Sum256([]byte(rand.Text()))
	return hex.EncodeToString(sum[:])
}

// has fails unless the key has this record.
func (t *attemptTest) has(want string) {
	t.Helper()
	if got, err := t.store.Load(t.Context(), t.Org, t.key); got != want || err != nil {
		t.Errorf("Load = %q, %v; want %q", got, err, want)
	}
}

func (t *attemptTest) swap(old, record string, want bool) {
	t.Helper()
	if done, err := t.store.Swap(t.Context(), t.Org, t.key, old, record); done != want || err != nil {
		t.Errorf("Swap(%q, %q) = %t, %v", old, record, done, err)
	}
}

const longRecord = "2147483647 9223372036854775807 9223372036854775807 and some more"

func (t *attemptTest) set() {
	t.has("")
	old := ""
	for _, record := range []string{"1", longRecord, longRecord, "1 2 3", "", "", "1"} {
		t.swap(old, record, true)
		t.has(record)
		old = record
	}
}

func (t *attemptTest) conflict() {
	t.swap("1", "2", false)
	t.swap("1", "", false)
	t.has("")
	t.swap("", "1", true)
	for _, wrong := range []string{"", "2", "1 ", "10"} {
		t.swap(wrong, "3", false)
		t.swap(wrong, "", false)
		t.has("1")
	}
}

func (t *attemptTest) apart() {
	first, key := *t, t.key
	t.swap("", "1", true)
	t.key = newKey()
	t.has("")
	t.swap("", "2", true)
	t.key, t.Org = key, t.Other("-2")
	t.has("")
	t.swap("1", "", false)
	t.swap("", "3", true)
	first.has("1")
}

func (t *attemptTest) person() {
	if t.Features.Org != nil {
		t.Skip("the store's orgs have ids of its own")
	}
	t.swap("", "1", true)
	person := *t
	person.Org = auth.PersonKey
	person.has("")
	person.swap("", "2", true)
	t.has("1")
	person.has("2")
}

func (t *attemptTest) cancelled() {
	t.swap("", "1", true)
	ctx := suite.Ended(t.T)
	_, load := t.store.Load(ctx, t.Org, t.key)
	suite.Fails(t.T, "Load", load)
	_, swap := t.store.Swap(ctx, t.Org, t.key, "1", "2")
	suite.Fails(t.T, "Swap", swap)
	t.has("1")
}

// race replaces one record 64 times at once: it appears, changes and goes.
func (t *attemptTest) race() {
	for range 5 {
		for _, change := range [][2]string{{"", "1 %d"}, {"1", "2 %d"}, {"2", ""}} {
			old, _ := t.store.Load(t.Context(), t.Org, t.key)
			record := func(i int) string { return strings.ReplaceAll(change[1], "%d", fmt.Sprint(i)) }
			lost := errors.New("not swapped")
			won := suite.Winner(t.T, suite.AtOnce(suite.Crowd, func(i int) error {
				done, err := t.store.Swap(t.Context(), t.Org, t.key, old, record(i))
				if err == nil && !done {
					err = lost
				}
				return err
			}), lost)
			t.has(record(won))
		}
	}
	t.has("")
}

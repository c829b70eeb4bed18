package suites

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"
)

// crowd is how many callers take part in a race.
const crowd = 64

// brief is the life of records that a subtest lets expire. A slow store must answer
// calls about them before.
const brief = 3 * time.Second

// random returns a name that was never used: a store may be in use, and keeps the
// records of earlier runs.
func random() string { return strings.ToLower(rand.Text()) }

// atOnce calls f n times concurrently and returns the errors.
func atOnce(n int, f func(i int) error) []error {
	errs := make([]error, n)
	begin := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-begin
			errs[i] = f(i)
		})
	}
	close(begin)
	wg.Wait()
	return errs
}

// tally counts the nil errors, and fails for each other error that matches none of
// others.
func tally(t *testing.T, errs []error, others ...error) (succeeded int) {
	t.Helper()
	for _, err := range errs {
		if err == nil {
			succeeded++
			continue
		}
		if !matches(err, others...) {
			t.Errorf("error %v, want one of %v", err, others)
		}
	}
	return succeeded
}

// expect fails unless err matches one of want. A nil in want matches a nil error.
func expect(t *testing.T, what string, err error, want ...error) {
	t.Helper()
	if !matches(err, want...) {
		t.Errorf("%s: error %v, want %v", what, err, want)
	}
}

func matches(err error, targets ...error) bool {
	for _, target := range targets {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// ended returns a cancelled context.
func ended(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// spellings returns similar names that a store must keep apart.
func spellings() []string {
	name := random()
	return []string{
		name, strings.ToUpper(name), name + " ", " " + name, name + "%", name + "_", name + "'", name + `"`, name + `\`,
		name + "é", name + "e\u0301", name + "ß", name + "ss", name + "日本", name + "😀", name + "\t", name + ":" + name,
	}
}

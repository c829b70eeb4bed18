package storetest

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// crowd is how many callers take part in a race.
const crowd = 64

// brief is how long what is to end lasts: time enough to ask a slow store about
// it before.
const brief = 3 * time.Second

// random returns a name that nobody has had: stores may be in use, and keep
// what a suite has left.
func random() string { return strings.ToLower(rand.Text()) }

// letters returns n letters and digits of a random name.
func letters(n int) string { return (rand.Text() + rand.Text() + rand.Text())[:n] }

// atOnce calls f n times at once and returns what each has returned.
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

// tally counts the errors that are nil, and fails for those that match none of
// the others.
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

// winner returns which call of all was the one that succeeded; the others must
// have returned lost.
func winner(t *testing.T, errs []error, lost error) int {
	t.Helper()
	if n := tally(t, errs, lost); n != 1 {
		t.Fatalf("%d calls of %d won", n, len(errs))
	}
	return slices.Index(errs, nil)
}

// expect fails unless err matches one of want; nil is matched by nil.
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

// ended returns a context that is over.
func ended(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// spellings are names that a store must not take for one another.
func spellings() []string {
	name := random()
	return []string{
		name, strings.ToUpper(name), name + " ", " " + name, name + "%", name + "_", name + "'", name + `"`, name + `\`,
		name + "é", name + "e\u0301", name + "ß", name + "ss", name + "日本", name + "😀", name + "\t", name + ":" + name,
	}
}

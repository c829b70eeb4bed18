package suite

import (
	"context"
	"crypto/rand"
	"errors"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/internal/face"
)

// Tests are the subtests of a suite, by their names.
type Tests[F any] []struct {
	Name string
	Test F
}

// Run calls run in a subtest for each of the tests.
func Run[F any](t *testing.T, tests Tests[F], run func(t *testing.T, test F)) {
	for _, c := range tests {
		t.Run(c.Name, func(t *testing.T) { run(t, c.Test) })
	}
}

// With returns v after a change; nil: none.
func With[V any](v V, change func(*V)) V {
	if change != nil {
		change(&v)
	}
	return v
}

// Crowd is how many callers take part in a race.
const Crowd = 64

// Brief is the life of records that a subtest lets expire. A slow store must answer
// calls about them before.
const Brief = 3 * time.Second

// Random returns a name that was never used: a store may be in use, and keeps the
// records of earlier runs.
func Random() string { return strings.ToLower(rand.Text()) }

// AtOnce calls f n times concurrently and returns the errors.
func AtOnce(n int, f func(i int) error) []error {
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

// Tally counts the nil errors, and fails for each other error that matches none of
// others.
func Tally(t *testing.T, errs []error, others ...error) (succeeded int) {
	t.Helper()
	for _, err := range errs {
		if err == nil {
			succeeded++
		} else {
			Expect(t, "at once", err, others...)
		}
	}
	return succeeded
}

// Wins lets a crowd call f at once, and fails unless n calls succeed. All others must return one of lost. It
// returns the index of the first call that succeeded.
func Wins(t *testing.T, n int, f func(i int) error, lost ...error) (first int) {
	t.Helper()
	errs := AtOnce(Crowd, f)
	if got := Tally(t, errs, lost...); got != n {
		t.Fatalf("%d calls of %d won, want %d", got, Crowd, n)
	}
	return slices.Index(errs, nil)
}

// Check fails unless ok.
func Check(t testing.TB, ok bool, format string, args ...any) {
	t.Helper()
	if !ok {
		t.Errorf(format, args...)
	}
}

// Same fails unless got is want, in all that they contain.
func Same[V any](t *testing.T, what string, got, want V) {
	t.Helper()
	Check(t, reflect.DeepEqual(got, want), "%s: got  %+v\nwant %+v", what, got, want)
}

// Must ends the test if there is an error.
func Must(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// Fails fails unless err is an error that matches none of others.
func Fails(t *testing.T, what string, err error, others ...error) {
	t.Helper()
	Check(t, err != nil && !Matches(err, others...), "%s: error %v, want another one", what, err)
}

// Expect fails unless err matches one of want. A nil in want matches a nil error.
func Expect(t *testing.T, what string, err error, want ...error) {
	t.Helper()
	Check(t, Matches(err, want...), "%s: error %v, want %v", what, err, want)
}

// Matches reports whether err matches one of the targets.
func Matches(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
}

// Ended returns a cancelled context.
func Ended(t testing.TB) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// Seen uses something at times around an hour, from two places, and compares what is recorded: one use of
// each hour. A store whose engine is busy may leave a use out, and must record the next. It returns how many
// uses it has made.
func Seen(t *testing.T, at time.Time, use func(face.Use), recorded func() face.Use) (made int64) {
	t.Helper()
	home, away := netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("2001:db8:1::/48")
	first, second, third := face.Use{Seen: at, From: home}, face.Use{Seen: at.Add(time.Hour), From: away}, face.Use{Seen: at.Add(2 * time.Hour)}
	for _, c := range []struct{ use, want face.Use }{
		{first, first},
		{face.Use{Seen: at.Add(time.Minute), From: away}, first},
		{face.Use{Seen: at.Add(-time.Hour), From: away}, first}, // by a clock that is behind
		{face.Use{Seen: at.Add(time.Hour - time.Millisecond), From: away}, first},
		{second, second},
		{third, third},
	} {
		var got face.Use
		for tries := 0; tries < 3 && got != c.want; tries++ {
			use(c.use)
			made++
			got = recorded()
			got.Seen = got.Seen.UTC()
		}
		Check(t, got == c.want, "after the use %v: recorded is %v, want %v", c.use, got, c.want)
	}
	return made
}

// Pages returns all records of a list in pages of a limit. It checks what each List promises: no page has more
// records than the limit, they are in the order of their positions, and the next page begins after them.
func Pages[R, P any](t *testing.T, limit int, position func(R) P, compare func(a, b P) int, list func(after P) (page []R, next P, err error)) (all []R) {
	t.Helper()
	for none, after := *new(P), *new(P); ; {
		page, next, err := list(after)
		if err != nil || len(page) > limit {
			t.Fatalf("List of %d after %v: %d records, %v", limit, after, len(page), err)
		}
		last := after
		for _, r := range page {
			if compare(position(r), last) <= 0 {
				t.Fatalf("List returns %+v after %v", r, last)
			}
			last = position(r)
		}
		all = append(all, page...)
		switch {
		case compare(next, none) == 0:
			return all
		case compare(next, last) < 0 || compare(next, after) <= 0:
			t.Fatalf("the page after %v ends with %v, and the next begins after %v", after, last, next)
		}
		after = next
	}
}

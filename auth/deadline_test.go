package auth_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

// asking is a mechanism that inspects the context of its store calls.
type asking struct {
	letter
	look func(ctx context.Context)
}

func (m asking) Presented(*http.Request) auth.Presence { return auth.InHeader }

func (m asking) Authenticate(ctx context.Context, r *http.Request, t *auth.Tenant) (auth.Principal, error) {
	m.look(ctx)
	return auth.Principal{}, auth.ErrUnavailable
}

// waiting is a directory that reads the deadline of its context.
type waiting struct{ auth.Directory }

func (w waiting) Org(ctx context.Context, code string) (*auth.Org, error) {
	ctx.Deadline() // the timeout starts here
	return w.Directory.Org(ctx, code)
}

// throughGuard runs look as a mechanism of a Guard with that timeout.
func throughGuard(timeout time.Duration, look func(ctx context.Context)) {
	g := guard()
	g.Timeout, g.Mechanisms = timeout, []auth.Mechanism{asking{letter{name: "asking"}, look}}
	mux := g.Mux()
	mux.Handle("GET /me", auth.Authenticated, whoami)
	do(mux, "GET", "/acme/v2/me")
}

func TestTimeOfStoreCalls(t *testing.T) {
	t.Run("begins when somebody asks for it, once", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			throughGuard(100*time.Millisecond, func(ctx context.Context) {
				time.Sleep(time.Second) // computing
				if err := ctx.Err(); err != nil {
					t.Errorf("ended before anybody waited: %v", err)
				}
				first, ok := ctx.Deadline()
				if want := time.Now().Add(100 * time.Millisecond); !ok || !first.Equal(want) {
					t.Errorf("deadline %v, %v, want %v", first, ok, want)
				}
				time.Sleep(50 * time.Millisecond)
				if again, _ := ctx.Deadline(); !again.Equal(first) {
					t.Errorf("deadline %v, and then %v", first, again)
				}
				<-ctx.Done()
				if !errors.Is(ctx.Err(), context.DeadlineExceeded) || time.Now().Before(first) {
					t.Errorf("ended at %v with %v", time.Now(), ctx.Err())
				}
			})
		})
	})
	t.Run("is one for all who wait", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			throughGuard(100*time.Millisecond, func(ctx context.Context) {
				ended := make(chan (<-chan struct{}))
				for range 8 {
					go func() { ended <- ctx.Done() }()
				}
				first := <-ended
				for range 7 {
					if other := <-ended; other != first {
						t.Error("two channels of one context")
					}
				}
			})
		})
	})
	for name, wait := range map[string]func(ctx context.Context){
		"is over with the call, if nobody waited": func(context.Context) {},
		"is over with the call":                   func(ctx context.Context) { ctx.Deadline() },
	} {
		t.Run(name, func(t *testing.T) {
			// A synctest bubble detects a timer that was not stopped.
			synctest.Test(t, func(t *testing.T) {
				var kept context.Context
				throughGuard(time.Hour, func(ctx context.Context) {
					wait(ctx)
					kept = ctx
				})
				<-kept.Done()
				for range 20 {
					if !errors.Is(kept.Err(), context.Canceled) {
						t.Fatalf("Err = %v", kept.Err())
					}
				}
			})
		})
	}
	t.Run("begins anew for a Check after the look-up had its own", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			const timeout = 100 * time.Millisecond
			g := guard()
			g.Timeout = timeout
			g.Directory = waiting{g.Directory}
			g.Mechanisms = []auth.Mechanism{asking{letter{name: "asking"}, func(ctx context.Context) {
				if end, ok := ctx.Deadline(); !ok || !end.Equal(time.Now().Add(timeout)) || ctx.Err() != nil {
					t.Errorf("deadline %v, %v, %v, want a whole %v", time.Until(end), ok, ctx.Err(), timeout)
				}
			}}}
			mux := g.Mux()
			mux.HandleFunc("GET /late", auth.Public, func(w http.ResponseWriter, r *http.Request) {
				time.Sleep(time.Hour)
				g.Check(r, auth.Authenticated)
			})
			do(mux, "GET", "/acme/v2/late")
		})
	})
	t.Run("a time that ran out stays so", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var kept context.Context
			throughGuard(time.Second, func(ctx context.Context) {
				<-ctx.Done()
				kept = ctx
			})
			if !errors.Is(kept.Err(), context.DeadlineExceeded) {
				t.Errorf("Err = %v", kept.Err())
			}
		})
	})
}

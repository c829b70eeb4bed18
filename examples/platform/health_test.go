package main

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// readyFor asks p whether it is ready, with the context of a caller.
func readyFor(ctx context.Context, p *platform) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	p.readyz(w, httptest.NewRequestWithContext(ctx, "GET", "/readyz", nil))
	return w
}

// checkedBy is a platform with one store that counts its checks.
func checkedBy(takesWrites func(context.Context) error) (p *platform, asked *atomic.Int64) {
	asked = new(atomic.Int64)
	return &platform{
		log: slog.New(slog.DiscardHandler),
		ready: &readiness{stores: []func(context.Context) error{func(ctx context.Context) error {
			asked.Add(1)
			return takesWrites(ctx)
		}}},
	}, asked
}

func wantReady(t *testing.T, p *platform, want int) {
	t.Helper()
	w := readyFor(t.Context(), p)
	if w.Code != want || (w.Header().Get("Retry-After") != "") != (want == 503) {
		t.Errorf("status %d, want %d: %v", w.Code, want, w.Header())
	}
}

// TestReadyTakesWrites locks the database as another process may. Meanwhile,
// callers ask without a pause and go away.
func TestReadyTakesWrites(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "platform.db")
	p := parts(t, io.Discard, "-db", sqliteDB+file)
	await := func(want int) {
		t.Helper()
		for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
			gone, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			readyFor(gone, p)
			cancel()
			if got := readyFor(t.Context(), p).Code; got == want {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("it does not get to %d", want)
			}
		}
	}
	await(200)
	other, err := sql.Open("sqlite", sqliteSource(file, "_txlock=immediate"))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	tx, err := other.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	await(503)
	for began := time.Now(); time.Since(began) < 2*checkInterval; {
		gone, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		readyFor(gone, p)
		cancel()
		wantReady(t, p, 503)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	await(200)
	if empty, err := p.store.isEmpty(t.Context()); !empty || err != nil {
		t.Errorf("it left something: %v", err)
	}
	var rows int
	if err := p.store.db.QueryRowContext(t.Context(), "SELECT count(*) FROM platform_readiness").Scan(&rows); rows != 1 || err != nil {
		t.Errorf("%d rows of its own: %v", rows, err)
	}
}

// TestReadinessIsAskedSeldom asks more often than the stores are checked. It must
// see a change within a second.
func TestReadinessIsAskedSeldom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var down error
		p, asked := checkedBy(func(context.Context) error { return down })
		for second := range 10 {
			down = nil
			if second%2 == 1 {
				down = errors.New("down")
			}
			for range 100 {
				wantReady(t, p, map[bool]int{true: 200, false: 503}[down == nil])
			}
			if got := asked.Load(); got != int64(second+1) {
				t.Errorf("asked %d times in %d s", got, second)
			}
			time.Sleep(checkInterval)
		}
	})
}

// TestReadinessOfCallersThatGoAway tests callers that leave before, during and
// after the start of a check. The store takes no writes.
func TestReadinessOfCallersThatGoAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, asked := checkedBy(func(ctx context.Context) error {
			select {
			case <-time.After(checkTime / 2):
				return errors.New("down")
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		for range 20 {
			for patience := range 20 {
				gone, cancel := context.WithTimeout(t.Context(), time.Duration(patience)*checkTime/20)
				if got := readyFor(gone, p).Code; got != 503 {
					t.Errorf("who goes away after %d twentieths hears %d", patience, got)
				}
				cancel()
			}
			began := time.Now()
			wantReady(t, p, 503)
			if took := time.Since(began); took > checkTime/2 {
				t.Errorf("who stays hears it after %v", took)
			}
		}
		if most := int64(20*20/2 + 20); asked.Load() > most {
			t.Errorf("asked %d times", asked.Load())
		}
		synctest.Wait()
	})
}

func TestReadinessOfAStoreThatHangs(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		hang func(ctx context.Context, mended <-chan struct{}) error
		most int64 // checks meanwhile
	}{
		"until its context ends": {func(ctx context.Context, mended <-chan struct{}) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-mended:
				return nil
			}
		}, 10},
		"whatever its context": {func(_ context.Context, mended <-chan struct{}) error { <-mended; return nil }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mended := make(chan struct{})
				p, asked := checkedBy(func(ctx context.Context) error { return test.hang(ctx, mended) })
				codes := make(chan int)
				for range 100 { // concurrent callers get the answer at once
					go func() { codes <- readyFor(t.Context(), p).Code }()
				}
				began := time.Now()
				for range 100 {
					if got := <-codes; got != 503 {
						t.Errorf("status %d", got)
					}
				}
				if took := time.Since(began); took != checkTime {
					t.Errorf("they hear it after %v", took)
				}
				for time.Since(began) < 10*time.Second {
					wantReady(t, p, 503)
					time.Sleep(checkTime / 10)
				}
				if asked.Load() > test.most {
					t.Errorf("asked %d times", asked.Load())
				}
				close(mended)
				time.Sleep(checkInterval)
				wantReady(t, p, 200)
			})
		})
	}
}

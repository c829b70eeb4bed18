package idempotency_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/idempotency"
)

// tx is a transaction with a store of this process: what it holds takes place with Commit.
type tx struct {
	end  func() error
	err  error // of Commit
	lost bool  // Commit says so although it has committed
	rows *int
}

func (x *tx) Commit() error {
	if x.err != nil && !x.lost {
		return x.err
	}
	*x.rows++
	if x.end == nil {
		return x.err
	}
	return errors.Join(x.end(), x.err)
}

// transactional is a Store that completes entries with a tx.
type transactional struct{ idempotency.Store }

func (s transactional) EndIn(ctx context.Context, t interface{ Commit() error }, e idempotency.Entry) error {
	held, err := s.Begin(ctx, idempotency.Entry{ID: e.ID}, idempotency.Options{})
	if err != nil || held.Fence != e.Fence {
		return errors.Join(err, auth.ErrConflict)
	}
	t.(*tx).end = func() error { return s.End(context.WithoutCancel(ctx), e) }
	return nil
}

// payments is a server whose handler commits a row with its response.
func payments(t *testing.T, next func() *tx) (*world, *int) {
	w, rows := newWorld(t), new(int)
	w.keys = idempotency.New(transactional{w.store}, idempotency.Options{Sealer: newSealer("k"), MaxReply: 64})
	w.mux.Handle("POST /notes", auth.Authenticated, w.keys.Wrap(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.run()
		x := next()
		x.rows = rows
		rw.Header().Set("X-Handler", "kept")
		err := idempotency.Commit(rw, r, x, func(rw http.ResponseWriter) {
			rw.Header().Set("Location", "/notes/1")
			rw.Header().Del("X-Removed")
			rw.WriteHeader(http.StatusCreated)
			rw.Write([]byte("created " + r.Header.Get("Long")))
		})
		if err != nil {
			auth.Fail(rw, r, err)
		}
	})))
	return w, rows
}

func TestCommit(t *testing.T) {
	ok := func() *tx { return new(tx) }
	t.Run("with a key", func(t *testing.T) {
		w, rows := payments(t, ok)
		first := w.do(request{})
		w.expect("the first", first, 201, "created")
		if first.Header().Get("X-Handler") != "kept" || first.Header().Get("Location") != "/notes/1" {
			t.Errorf("headers %v", first.Header())
		}
		again := w.do(request{})
		w.expect("again", again, 201, "created")
		w.replayed("again", again, true)
		if w.ran(1); *rows != 1 || again.Header().Get("Location") != "/notes/1" {
			t.Errorf("%d rows, %v", *rows, again.Header())
		}
		if w.store.ends != 1 { // in the transaction
			t.Errorf("%d calls of End", w.store.ends)
		}
	})
	t.Run("without a key", func(t *testing.T) {
		w, rows := payments(t, ok)
		for range 2 {
			w.expect("it", w.do(request{key: []string{}}), 201, "created")
		}
		if *rows != 2 || w.store.begins != 0 {
			t.Errorf("%d rows, %d calls of the store", *rows, w.store.begins)
		}
	})
	t.Run("without a key, and the commit fails", func(t *testing.T) {
		w, _ := payments(t, func() *tx { return &tx{err: errors.New("lost")} })
		w.expect("it", w.do(request{key: []string{}}), 503, "error.storeUnavailable")
	})
	t.Run("a commit that fails is repeated", func(t *testing.T) {
		all := []*tx{{err: errors.New("lost")}, {}}
		w, rows := payments(t, func() *tx { x := all[0]; all = all[1:]; return x })
		first := w.do(request{})
		w.expect("the first", first, 503, "error.storeUnavailable")
		if first.Header().Get("Location") != "" {
			t.Error("it has a header of what was not committed")
		}
		w.expect("again", w.do(request{}), 201, "created")
		w.expect("and again", w.do(request{}), 201, "created")
		if w.ran(2); *rows != 1 {
			t.Errorf("%d rows", *rows)
		}
	})
	t.Run("a commit that only seems to fail is not", func(t *testing.T) {
		w, rows := payments(t, func() *tx { return &tx{err: errors.New("lost"), lost: true} })
		w.expect("the first", w.do(request{}), 503, "error.storeUnavailable")
		w.expect("again", w.do(request{}), 201, "created")
		if w.ran(1); *rows != 1 {
			t.Errorf("%d rows", *rows)
		}
	})
	t.Run("the attempt that comes back after its lease cannot commit", func(t *testing.T) {
		var w *world
		slow := true
		w, rows := payments(t, func() *tx {
			if slow {
				slow = false
				w.clock.Advance(2 * time.Minute)
				w.expect("meanwhile", w.do(request{}), 201, "created")
			}
			return new(tx)
		})
		late := w.do(request{})
		w.expect("the late one", late, 409, "invalidArgument.idempotencyPending")
		if late.Header().Get("Retry-After") == "" || *rows != 1 {
			t.Errorf("%d rows, %v", *rows, late.Header())
		}
		w.expect("again", w.do(request{}), 201, "created")
		w.ran(2)
	})
	t.Run("a response that is too long is sent, and kept as a reference", func(t *testing.T) {
		w, rows := payments(t, ok)
		r := httptest.NewRequest("POST", "/acme/v2/notes", nil)
		r.Header = http.Header{"Who": {"ann"}, "Idempotency-Key": {"key"}, "Long": {strings.Repeat("x", 100)}}
		res := httptest.NewRecorder()
		w.mux.ServeHTTP(res, r)
		w.expect("the first", res, 201, strings.Repeat("x", 100))
		again := w.do(request{})
		w.expect("again", again, 409, "conflict.idempotencyReply")
		if *rows != 1 || again.Header().Get("Location") != "/notes/1" {
			t.Errorf("%d rows, %v", *rows, again.Header())
		}
	})
	t.Run("a panic of the response, which the handler recovers from", func(t *testing.T) {
		w, rows := newWorld(t), 0
		w.keys = idempotency.New(transactional{w.store}, idempotency.Options{Sealer: newSealer("k")})
		w.mux.Handle("POST /notes", auth.Authenticated, w.keys.Wrap(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			defer func() {
				if recover() != nil {
					auth.Fail(rw, r, errors.New("a bug"))
				}
			}()
			_ = idempotency.Commit(rw, r, &tx{rows: &rows}, func(rw http.ResponseWriter) {
				rw.Header().Set("Location", "/notes/1")
				rw.WriteHeader(http.StatusCreated)
				panic("a bug")
			})
		})))
		res := w.do(request{})
		w.expect("it", res, 500, "error.unspecified")
		if rows != 0 || res.Header().Get("Location") != "" {
			t.Errorf("%d rows, %v", rows, res.Header())
		}
	})
	t.Run("NoEffect before it lets a request that has not got there be repeated", func(t *testing.T) {
		w, rows, fails := newWorld(t), 0, true
		w.keys = idempotency.New(transactional{w.store}, idempotency.Options{Sealer: newSealer("k")})
		w.mux.Handle("POST /notes", auth.Authenticated, w.keys.Wrap(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			idempotency.NoEffect(r.Context())
			err := auth.Unavailable(errors.New("no connection"))
			if !fails {
				err = idempotency.Commit(rw, r, &tx{rows: &rows}, func(rw http.ResponseWriter) { rw.WriteHeader(http.StatusCreated) })
			}
			if err != nil {
				auth.Fail(rw, r, err)
			}
		})))
		w.expect("the first", w.do(request{}), 503, "")
		fails = false
		for i := range 3 {
			res := w.do(request{})
			w.expect("again", res, 201, "")
			w.replayed("again", res, i > 0)
		}
		if rows != 1 {
			t.Errorf("%d rows", rows)
		}
	})
	t.Run("after the response has begun it is refused", func(t *testing.T) {
		w := newWorld(t)
		w.keys = idempotency.New(transactional{w.store}, idempotency.Options{Sealer: newSealer("k")})
		var err error
		rows := new(int)
		w.mux.Handle("POST /notes", auth.Authenticated, w.keys.Wrap(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			rw.Write([]byte("begun"))
			err = idempotency.Commit(rw, r, &tx{rows: rows}, func(http.ResponseWriter) { t.Error("it responds") })
		})))
		if w.do(request{}); err == nil || *rows != 0 {
			t.Errorf("%v, %d rows", err, *rows)
		}
	})
	t.Run("a store without transactions refuses it", func(t *testing.T) {
		w := newWorld(t)
		rows := new(int)
		w.mux.Handle("POST /notes", auth.Authenticated, w.keys.Wrap(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if err := idempotency.Commit(rw, r, &tx{rows: rows}, func(http.ResponseWriter) {}); err != nil {
				auth.Fail(rw, r, err)
			}
		})))
		if w.expect("it", w.do(request{}), 500, ""); *rows != 0 {
			t.Errorf("%d rows", *rows)
		}
	})
}

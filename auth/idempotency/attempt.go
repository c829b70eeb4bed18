package idempotency

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"

	"github.com/tenantkit/tenantkit/auth"
)

// attempt is one run of a handler, and the ResponseWriter that it gets. It holds the response until the
// store has it, so that a client that has its response can repeat the request at once. A response that is
// flushed or longer than MaxReply is sent as it is written.
type attempt struct {
	http.ResponseWriter
	keys    *Keys
	tenant  *auth.Tenant
	route   route
	request []byte // body
	print   prints
	entry   Entry

	status int
	body   []byte
	sent   bool // the response has begun

	returned, noEffect, committed, failed bool
}

type attemptKey struct{}

// attemptOf returns the attempt of a request, or nil if it has no key.
func attemptOf(ctx context.Context) *attempt {
	a, _ := ctx.Value(attemptKey{}).(*attempt)
	return a
}

// NoEffect says that the handler has changed nothing: its response is not kept, and a repetition runs the
// handler again. Without a key it does nothing.
func NoEffect(ctx context.Context) {
	if a := attemptOf(ctx); a != nil {
		a.noEffect = true
	}
}

// WriteHeader holds the status until the response is sent.
func (a *attempt) WriteHeader(status int) {
	switch {
	case a.sent || status < 200:
		a.ResponseWriter.WriteHeader(status)
	case a.status == 0:
		a.status = status
	}
}

func (a *attempt) Write(b []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	if !a.sent && len(a.body)+len(b) > a.keys.options.MaxReply {
		a.send()
	}
	if a.sent {
		return a.ResponseWriter.Write(b)
	}
	a.body = append(a.body, b...)
	return len(b), nil
}

// Flush sends what was written, and then what will be. Such a response is kept as a reference.
func (a *attempt) Flush() {
	a.send()
	_ = http.NewResponseController(a.ResponseWriter).Flush() // not every writer can
}

func (a *attempt) send() {
	if a.sent {
		return
	}
	a.sent = true
	if a.status == 0 {
		a.status = http.StatusOK
	}
	a.ResponseWriter.WriteHeader(a.status)
	a.ResponseWriter.Write(a.body) // a failed write is the client's loss
	a.body = nil
}

// end keeps the response, and sends it. If the store does not take it, the client gets it all the same:
// it says what has happened.
func (a *attempt) end(ctx context.Context) {
	if a.committed {
		return
	}
	if !a.returned { // a panic, which is answered outside
		a.status, a.body = http.StatusInternalServerError, nil
	}
	if a.status == 0 {
		a.status = http.StatusOK
	}
	e := a.entry
	// A transaction that failed has no effect. If it did not fail, although its Commit said so, the entry
	// is complete, and nothing changes it.
	if e.Sealed = nil; !a.noEffect && !a.failed {
		e.Sealed = a.keep(a.status, a.Header(), a.body, !a.sent && a.returned)
	}
	ctx, cancel := a.tenant.Bound(context.WithoutCancel(ctx))
	defer cancel()
	_ = a.keys.store.End(ctx, e) // if it fails, the lease ends by itself
	if a.returned {
		a.send()
	}
}

// keep seals what is kept of a response.
func (a *attempt) keep(status int, h http.Header, body []byte, whole bool) []byte {
	whole = whole && len(body) <= a.keys.options.MaxReply && !(a.route.reference && status < 400)
	return a.keys.seal(&a.entry, a.print, replyOf(status, h, body, whole))
}

var (
	errBegun    = errors.New("idempotency: Commit after the response has begun")
	errNoCommit = errors.New("idempotency: the store of this key cannot complete it in the transaction")
)

// committer is the power of a Store to complete an entry in a transaction of the application. tx is not
// committed. If the entry is not held with e's fence, the error wraps auth.ErrConflict.
type committer interface {
	EndIn(ctx context.Context, tx interface{ Commit() error }, e Entry) error
}

// Commit commits tx, with the response that respond writes, and sends it. After an error tx must be
// rolled back: nothing is committed, unless the error wraps auth.ErrUnavailable, and nothing is sent, so that the handler can
// call auth.Fail:
//
//	defer tx.Rollback()
//	…
//	err := idempotency.Commit(w, r, tx, func(w http.ResponseWriter) { auth.Reply(w, r, payment) })
//	if err != nil {
//		auth.Fail(w, r, err)
//	}
//
// It fails if the lease has ended and another attempt has the request: 409 with Retry-After. It also fails
// for a key whose Store has no transactions, such as that of redisstore. tx is a transaction that
// sqlstore.Store.In would take. Without a key, Commit commits and calls respond. It takes one statement.
func Commit(w http.ResponseWriter, r *http.Request, tx interface{ Commit() error }, respond func(http.ResponseWriter)) error {
	a := attemptOf(r.Context())
	if a == nil {
		if err := tx.Commit(); err != nil {
			return auth.Unavailable(err)
		}
		respond(w)
		return nil
	}
	return a.commit(w, r, tx, respond)
}

func (a *attempt) commit(w http.ResponseWriter, r *http.Request, tx interface{ Commit() error }, respond func(http.ResponseWriter)) error {
	store, ok := a.keys.store.(committer)
	switch {
	case a.sent || a.status != 0:
		return errBegun
	case !ok:
		return errNoCommit
	}
	a.failed = true
	held := &recorder{header: w.Header().Clone()}
	respond(held)
	e := a.entry
	e.Sealed = a.keep(held.status(), held.header, held.body, true)
	err := store.EndIn(r.Context(), tx, e)
	if err == nil {
		err = auth.Unavailable(tx.Commit())
	}
	switch {
	case errors.Is(err, auth.ErrConflict) && !errors.Is(err, auth.ErrUnavailable):
		return errBusy(err)
	case err != nil:
		return err
	}
	a.committed, a.sent = true, true
	held.send(w)
	return nil
}

// recorder is a response that is not sent unless its transaction is committed.
type recorder struct {
	header http.Header
	code   int
	body   []byte
}

func (r *recorder) Header() http.Header { return r.header }

func (r *recorder) WriteHeader(status int) {
	if r.code == 0 && status >= 200 {
		r.code = status
	}
}

func (r *recorder) Write(b []byte) (int, error) {
	r.body = append(r.body, b...)
	return len(b), nil
}

func (r *recorder) status() int { return cmp.Or(r.code, http.StatusOK) }

func (r *recorder) send(w http.ResponseWriter) {
	clear(w.Header())
	maps.Copy(w.Header(), r.header)
	w.WriteHeader(r.status())
	w.Write(r.body) // a failed write is the client's loss
}

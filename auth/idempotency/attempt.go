package idempotency

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

// attempt is one run of a handler, and the ResponseWriter that it gets. It holds the response until the
// store has it, so that a client that has its response can repeat the request at once. A response that is
// flushed or longer than MaxReply is sent as it is written.
type attempt struct {
	http.ResponseWriter
	keys    *Keys
	route   route
	request []byte // body
	print   prints
	entry   Entry
	ends    time.Time // of the lease

	status int
	body   []byte
	sent   bool // the response has begun
	held   bool // it must not begin, because its transaction may fail

	returned, noEffect, committed bool
}

type attemptKey struct{}

// NoEffect says that the handler has changed nothing: its response is not kept, and a repetition runs the
// handler again. What Commit commits is kept all the same. Without a key it does nothing.
func NoEffect(ctx context.Context) {
	if a, ok := ctx.Value(attemptKey{}).(*attempt); ok {
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
	a.status = cmp.Or(a.status, http.StatusOK)
	if !a.sent && !a.held && len(a.body)+len(b) > a.keys.options.MaxReply {
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
	if !a.held {
		a.send()
		_ = http.NewResponseController(a.ResponseWriter).Flush() // not every writer can
	}
}

func (a *attempt) send() {
	if a.sent {
		return
	}
	a.sent, a.status = true, cmp.Or(a.status, http.StatusOK)
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
	e := a.entry
	// A transaction that failed has no effect. If it did not fail, although its Commit said so, the entry
	// is complete, and nothing changes it.
	if !a.noEffect {
		e.Sealed = a.keep(!a.sent && a.returned)
	}
	ctx, cancel := auth.TenantFrom(ctx).Bound(context.WithoutCancel(ctx))
	defer cancel()
	_ = a.keys.store.End(ctx, e) // if it fails, the lease ends by itself
	if a.returned {
		a.send()
	}
}

// keep seals what is kept of the response.
func (a *attempt) keep(whole bool) []byte {
	kept, names := &reply{Status: cmp.Or(a.status, http.StatusOK), Header: make(map[string][]string)}, keptHeaders
	if whole && len(a.body) <= a.keys.options.MaxReply && !(a.route.reference && kept.Status < 400) {
		kept.Body = a.body
	} else {
		kept.Reference, names = true, []string{"Location"}
	}
	for _, name := range names {
		if values := a.Header()[name]; values != nil {
			kept.Header[name] = values
		}
	}
	return a.keys.seal(&a.entry, record{a.print, kept})
}

// committer is the power of a Store to complete an entry in a transaction of the application. tx is not
// committed. If the entry is not held with e's fence, the error wraps auth.ErrConflict.
type committer interface {
	EndIn(ctx context.Context, tx interface{ Commit() error }, e Entry) error
}

// Commit commits tx, with the response that respond writes, and sends it. It holds the response in memory.
// After an error tx must be rolled back. Nothing is committed, unless the error wraps auth.ErrUnavailable:
// then nobody knows. Nothing is sent, so the handler can call auth.Fail:
//
//	idempotency.NoEffect(r.Context()) // before Commit
//	…
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
	a, keyed := r.Context().Value(attemptKey{}).(*attempt)
	if !keyed {
		err := auth.Unavailable(tx.Commit())
		if err == nil {
			respond(w)
		}
		return err
	}
	store, ok := a.keys.store.(committer)
	switch {
	case a.sent || a.status != 0:
		return errors.New("idempotency: Commit after the response has begun")
	case !ok:
		return errors.New("idempotency: the store of this key cannot complete it in a transaction")
	}
	a.held, a.noEffect = true, true // unless it commits
	before := a.Header().Clone()
	defer func() { // also after a panic, whose response is another one
		if a.held = false; !a.committed {
			clear(a.Header())
			maps.Copy(a.Header(), before)
			a.status, a.body = 0, nil
		}
	}()
	respond(w)
	e := a.entry
	e.Sealed = a.keep(true)
	err := store.EndIn(r.Context(), tx, e)
	if err == nil {
		err = auth.Unavailable(tx.Commit())
	}
	switch {
	case err == nil:
		a.committed = true
		a.send()
	case errors.Is(err, auth.ErrConflict) && !errors.Is(err, auth.ErrUnavailable):
		return errBusy(err)
	}
	return err
}

// keptHeaders are the only headers that are kept. No cookie is ever sent to whoever repeats a request.
var keptHeaders = []string{"Content-Type", "Content-Encoding", "Location", "Etag"}

// reply is a response that is kept.
type reply struct {
	Status    int
	Header    map[string][]string
	Body      []byte
	Reference bool // the body is not kept
}

// serve answers a repetition.
func (k *reply) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Idempotent-Replayed", "true")
	maps.Copy(h, k.Header)
	if k.Reference {
		auth.Fail(w, r, &auth.Error{Detail: auth.DetailIdempotencyReply, Reason: "it was executed, and its response is not kept"})
		return
	}
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(k.Status)
	w.Write(k.Body) // a failed write is the client's loss
}

// record is what is sealed of a request, and of its response once it is complete.
type record struct {
	prints
	Reply *reply
}

func (k *Keys) seal(e *Entry, r record) []byte {
	secret, _ := json.Marshal(r) // its types can be encoded
	return k.options.Sealer.Seal(secret, bound(e))
}

func (k *Keys) open(e *Entry) (r record, err error) {
	secret, err := k.options.Sealer.Open(e.Sealed, bound(e))
	if err == nil {
		err = json.Unmarshal(secret, &r)
	}
	return r, err
}

// bound is the identity of an entry. What was sealed for it opens in no other row.
func bound(e *Entry) []byte { return append([]byte("idempotency "), e.ID[:]...) }

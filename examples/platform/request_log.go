package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

// entry is the log line of one request. Handlers and middleware fill it in.
type entry struct {
	statusWriter
	id       string
	decision auth.Event // the Guard's last decision
}

type entryKey struct{}

// entryOf returns the entry of a request, or an empty one outside logged.
func entryOf(ctx context.Context) *entry {
	if e, ok := ctx.Value(entryKey{}).(*entry); ok {
		return e
	}
	return new(entry)
}

// observe puts a decision of the Guard into the entry of its request, and passes all events on to those who
// watch the org, on all instances. It never waits.
func (p *platform) observe(ctx context.Context, e auth.Event) {
	p.stores.sql.Audit().Observe(ctx, e)
	if e.Verb == "" {
		entryOf(ctx).decision = e
	}
	if e.Verb == "" && e.Org != "" {
		p.history.add(e)
	}
	show := func() eventReply { return p.event(ctx, e) }
	p.feed.publish(e.Org, show)
	p.others.publish(e.Org, show)
}

// logged writes one line for each request: ids and codes, but no credential, no query and no body.
// The client gets the request's id, too, so that it can ask about the request.
func logged(log *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		e := &entry{statusWriter: statusWriter{ResponseWriter: w}, id: rand.Text()}
		w.Header().Set("Request-Id", e.id)
		defer func() { log.LogAttrs(r.Context(), e.level(), "request", e.attrs(r, time.Since(began))...) }()
		next.ServeHTTP(e, r.WithContext(context.WithValue(r.Context(), entryKey{}, e)))
	})
}

// loggedPath replaces segments that are longer than names and ids. They may be
// tokens or secrets that a client has sent in place of an id.
func loggedPath(u *url.URL) string {
	const longest = 40
	segments := strings.Split(u.EscapedPath(), "/")
	for i, segment := range segments {
		if len(segment) > longest {
			segments[i] = "…"
		}
	}
	return strings.Join(segments, "/")
}

func (e *entry) level() slog.Level {
	if e.status >= http.StatusInternalServerError {
		return slog.LevelError
	}
	return slog.LevelInfo
}

func (e *entry) attrs(r *http.Request, took time.Duration) []slog.Attr {
	attrs := []slog.Attr{
		slog.String("request_id", e.id),
		slog.String("method", r.Method),
		slog.String("path", loggedPath(r.URL)),
		slog.Int("status", e.status),
		slog.Duration("took", took),
	}
	d := e.decision
	for _, known := range []slog.Attr{
		slog.String("org", string(d.Org)),
		slog.String("app", d.App),
		slog.String("account", d.Account),
		slog.String("actor", d.Actor),                  // who acts for the account
		slog.String("claimed_by", d.Claimed.Mechanism), // nothing of the claims is proven
		slog.String("claimed_app", d.Claimed.App),
		slog.String("claimed_account", d.Claimed.Account),
		slog.String("fault", d.Detail),
	} {
		if known.Value.String() != "" {
			attrs = append(attrs, known)
		}
	}
	if d.Handler && d.Detail != "" {
		attrs = append(attrs, slog.Bool("handler", true)) // the fault is no refusal by the Guard
	}
	if d.Err != nil {
		attrs = append(attrs, slog.Any("cause", d.Err))
	}
	return attrs
}

// statusWriter keeps the status of a reply.
type statusWriter struct {
	http.ResponseWriter
	status int // 0 until the reply has begun
}

func (w *statusWriter) WriteHeader(status int) {
	if status >= http.StatusOK { // others come before it
		w.status = cmp.Or(w.status, status)
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(b []byte) (int, error) {
	w.status = cmp.Or(w.status, http.StatusOK)
	return w.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

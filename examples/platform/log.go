package main

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

// entry is the line of the log about one request, filled in on its way.
type entry struct {
	id       string
	status   int        // 0: the reply has not begun
	decision auth.Event // the Guard's last
}

type entryKey struct{}

// entryOf returns the entry of a request, an empty one outside logged.
func entryOf(ctx context.Context) *entry {
	if e, ok := ctx.Value(entryKey{}).(*entry); ok {
		return e
	}
	return new(entry)
}

// observe is what the Guard tells of its decisions.
func observe(ctx context.Context, decision auth.Event) {
	entryOf(ctx).decision = decision
}

// logged writes one line for each request: ids and codes, no credential, no
// query and no body. The request's id goes to the client, too, for whoever
// asks what became of a request.
func logged(log *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		e := &entry{id: rand.Text()}
		w.Header().Set("Request-Id", e.id)
		defer func() { log.LogAttrs(r.Context(), e.level(), "request", e.attrs(r, time.Since(began))...) }()
		next.ServeHTTP(&entryWriter{w, e}, r.WithContext(context.WithValue(r.Context(), entryKey{}, e)))
	})
}

// loggedPath leaves out what is longer than names and ids are: it may be a token
// or a secret, sent where the id of one belongs.
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
		slog.String("org", d.Org),
		slog.String("app", d.App),
		slog.String("account", d.Account),
		slog.String("fault", d.Detail),
	} {
		if known.Value.String() != "" {
			attrs = append(attrs, known)
		}
	}
	if d.Err != nil {
		attrs = append(attrs, slog.Any("cause", d.Err))
	}
	return attrs
}

// entryWriter notes the status of a reply.
type entryWriter struct {
	http.ResponseWriter
	entry *entry
}

func (w *entryWriter) WriteHeader(status int) {
	if w.entry.status == 0 && status >= http.StatusOK {
		w.entry.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *entryWriter) Write(b []byte) (int, error) {
	if w.entry.status == 0 {
		w.entry.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (w *entryWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

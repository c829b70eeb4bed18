package main

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// healthz says that the process answers.
func healthz(w http.ResponseWriter, _ *http.Request) {
	writeHealth(w, http.StatusOK, `{"status":"ok"}`)
}

// readyz says that requests can be served: that the stores answer.
func (p *platform) readyz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), time.Second)
	defer cancel()
	if err := errors.Join(p.store.ping(ctx), p.stores.ping(ctx)); err != nil {
		p.log.Error("not ready", "cause", err)
		w.Header().Set("Retry-After", "1")
		writeHealth(w, http.StatusServiceUnavailable, `{"status":"unavailable"}`)
		return
	}
	writeHealth(w, http.StatusOK, `{"status":"ok"}`)
}

func writeHealth(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	w.Write([]byte(body + "\n"))
}

package main

import (
	"context"
	"crypto/ed25519"
	"database/sql"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging/sqllist"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
	"github.com/tenantkit/tenantkit/scope"
)

// auditLog serves the audit log of an org.
type auditLog struct {
	*platform
	pages *sqlpage.Pages // kept, because it keeps statements prepared
}

// auditEvent is an entry in the list: see audit.Entry, which reads it.
type auditEvent struct {
	envelope.Item `page:"id"`
	_             string    `page:"org,tenant"`
	N             int64     `json:"n" page:"n,filter,sort"`
	Time          time.Time `json:"time" page:"time,milliseconds,filter,sort"`
	Verb          string    `json:"verb" page:"verb,filter,sort"`
	Actor         *string   `json:"actor,omitempty" page:"actor,filter,sort"`
	Account       *string   `json:"account,omitempty" page:"account,filter,sort"`
	App           *string   `json:"app,omitempty" page:"app,filter,sort"`
	Credential    *string   `json:"credential,omitempty" page:"credential,filter,sort"`
	Token         *string   `json:"token,omitempty" page:"token,filter,sort"`
	Session       *string   `json:"session,omitempty" page:"session,filter,sort"`
	By            *string   `json:"by,omitempty" page:"by_what,filter,sort"`
	Address       *string   `json:"address,omitempty" page:"address,filter,sort"`
	Agent         *string   `json:"agent,omitempty" page:"agent,filter"`
	Mail          *string   `json:"mail,omitempty" page:"mail,filter"`
	Detail        *string   `json:"detail,omitempty" page:"detail,filter,sort"`
	Reason        *string   `json:"reason,omitempty" page:"reason,filter"`
	Count         *int64    `json:"count,omitempty" page:"counted,filter,sort"`
	Route         *string   `json:"route,omitempty" page:"route,filter,sort"`
	Request       *string   `json:"request,omitempty" page:"request,filter,sort"`
	Salt          *string   `json:"salt,omitempty" page:"salt"`
	Commitment    *string   `json:"commitment,omitempty" page:"commitment"`
	Hash          string    `json:"hash" page:"hash,filter"`
}

const auditView = "platform_audit"

var auditList = sqllist.Must[auditEvent](sqllist.Declaration{Table: auditView, Object: "event", Count: true, IgnoreUnknown: true})

// showAudit makes the view that the list reads, of the tables of this release.
func (s *store) showAudit(ctx context.Context, db *sql.DB, log *sqlstore.Audit) error {
	return s.alone(ctx, func() error {
		return inTx(ctx, db, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "DROP VIEW IF EXISTS "+auditView+"; "+log.View(auditView))
			return err
		})
	})
}

// audited appends to the audit log in the transaction of the verb.
func (s *store) audited(ctx context.Context, tx *sql.Tx, e auth.Event, mail string) error {
	if s.library == nil {
		return nil
	}
	in, err := s.library.In(ctx, tx)
	if err == nil {
		err = in.Audit().Append(ctx, e, mail)
	}
	return storeFailed(err)
}

func (h auditLog) list(r *http.Request) (page envelope.List[envelope.Verbatim], err error) {
	if err := h.store.queries.hold(r.Context()); err != nil {
		return page, err
	}
	query, given := r.URL.RawQuery, r.URL.Query()
	if !given.Has("sort") {
		query += "&sort=" + url.QueryEscape(`{"n":-1}`)
	}
	if !given.Has("paths[]") {
		for _, p := range auditList.Schema().Properties {
			query += "&paths[]=" + p.Path
		}
	}
	return auditList.Page(r.Context(), h.pages, string(auth.From(r.Context()).Org), scope.Unscoped(), query)
}

// kept refuses requests for a log that the server does not keep.
func (h auditLog) kept(http.ResponseWriter, *http.Request) error {
	if !h.auditing {
		return &auth.Error{Detail: auth.DetailNotFound, Reason: "this server keeps no audit log"}
	}
	return nil
}

type headReply struct {
	Count int64  `json:"count"`
	Hash  string `json:"hash"` // empty without an entry
	Time  string `json:"time"` // of the last entry
}

func (h auditLog) head(r *http.Request) (envelope.Result[headReply], error) {
	head, err := h.stores.sql.Audit().Head(r.Context(), auth.From(r.Context()).Org)
	return result(headReply{head.Count, head.Hash, date(head.Time)}, storeFailed(err))
}

// keepCheckpoints appends signed heads to the file of -audit-checkpoint: each minute, and when ctx ends.
func (p *platform) keepCheckpoints(ctx context.Context, o options, background *sync.WaitGroup) error {
	seed, err := o.keptKey(".audit")
	if err != nil {
		return err
	}
	key := ed25519.NewKeyFromSeed(seed)
	file, err := os.OpenFile(o.checkpoint, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("-audit-checkpoint: %w", err)
	}
	background.Go(func() {
		defer file.Close()
		for tick := time.Tick(time.Minute); ; {
			select {
			case <-ctx.Done():
			case <-tick:
			}
			if err := p.writeCheckpoints(ctx, file, key); err != nil {
				p.log.Error("audit checkpoint", "cause", err)
			}
			if ctx.Err() != nil {
				return
			}
		}
	})
	return nil
}

func (p *platform) writeCheckpoints(ctx context.Context, file *os.File, key ed25519.PrivateKey) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	heads, err := p.stores.sql.Audit().Heads(ctx)
	if err != nil {
		return err
	}
	var lines []byte
	for _, head := range heads {
		lines = fmt.Appendln(lines, head.Sign(key))
	}
	if _, err := file.Write(lines); err != nil {
		return err
	}
	return file.Sync()
}

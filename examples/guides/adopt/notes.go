package main

import (
	"net/http"

	"github.com/google/uuid"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/idempotency"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/envelope/body"
	"github.com/tenantkit/tenantkit/paging/sqllist"
	"github.com/tenantkit/tenantkit/scope"
)

// note declares the list, too: the tag page has the column of a property and what callers may do.
type note struct {
	envelope.Item `page:"id,uuid"`
	_             string `page:"tenant_id,uuid,tenant"`
	Title         string `json:"title" page:"title,filter,sort"`
	Body          string `json:"body" page:"body"`
}

var notes = sqllist.Must[note](sqllist.Declaration{Table: "notes", Object: "note"})

// listNotes leaves it to the list to narrow by the scope.
func (s *service) listNotes(w http.ResponseWriter, r *http.Request, _ scope.Part) {
	inTime(body.None(func(_ http.ResponseWriter, r *http.Request) (any, error) {
		p := auth.From(r.Context())
		return notes.Page(r.Context(), s.pages, string(p.Org), p.Scope, r.URL.RawQuery)
	}))(w, r)
}

type newNote struct {
	Title string `json:"title"`
	Body  string `json:"body"`
}

func (s *service) createNote(w http.ResponseWriter, r *http.Request) {
	if err := s.addNote(w, r); err != nil {
		auth.Fail(w, r, err)
	}
}

// addNote commits the note with its response: a repetition with the same Idempotency-Key adds no other.
func (s *service) addNote(w http.ResponseWriter, r *http.Request) error {
	idempotency.NoEffect(r.Context()) // before Commit: no error is kept
	var ask newNote
	if _, err := body.Read(r, 64<<10, &ask); err != nil {
		return err
	}
	tx, err := s.db.BeginTx(r.Context(), nil)
	if err != nil {
		return sqlError(err)
	}
	defer tx.Rollback()
	n := note{Item: envelope.Item{ID: uuid.NewString(), Object: "note"}, Title: ask.Title, Body: ask.Body}
	_, err = tx.ExecContext(r.Context(), `INSERT INTO notes (id, tenant_id, title, body) VALUES ($1, $2, $3, $4)`,
		n.ID, auth.From(r.Context()).Org, n.Title, n.Body)
	if err != nil {
		return sqlError(err)
	}
	return idempotency.Commit(w, r, tx, func(w http.ResponseWriter) { auth.Reply(w, r, n) })
}

func (s *service) deleteNote(_ http.ResponseWriter, r *http.Request) (any, error) {
	id := r.PathValue("id")
	if !isUUID(id) {
		return nil, auth.ErrNotFound
	}
	// The scope does not say whose note it is: the condition on the tenant does.
	return struct{}{}, s.change(r.Context(), auth.ErrNotFound,
		`DELETE FROM notes WHERE id = $1 AND tenant_id = $2`, id, auth.From(r.Context()).Org)
}

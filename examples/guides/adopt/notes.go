package main

import (
	"encoding/json"
	"net/http"

	"github.com/google/uuid"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
	"github.com/tenantkit/tenantkit/scope"
)

// schema is what callers may ask for. The tenant is not part of it.
var schema = paging.Schema{Object: "note", RefuseUnknown: true, Properties: []paging.Property{
	{Path: "title", Type: paging.String, Filter: true, Sort: true},
	{Path: "body", Type: paging.String},
}}

var noteTable = sqlpage.Table{
	Name:   "notes",
	Object: "note",
	Tenant: "tenant",
	Select: []string{"id", "title", "body"},
	Properties: map[string]sqlpage.Column{
		"_id":    {Name: "id", Type: paging.String, NotNull: true, Storage: sqlpage.UUID},
		"tenant": {Name: "tenant_id", Type: paging.String, NotNull: true, Storage: sqlpage.UUID},
		"title":  {Name: "title", Type: paging.String, NotNull: true},
		"body":   {Name: "body", Type: paging.String, NotNull: true},
	},
}

type note struct {
	envelope.Item
	Title string `json:"title"`
	Body  string `json:"body"`
}

func (s *service) listNotes(_ http.ResponseWriter, r *http.Request) (any, error) {
	p := auth.From(r.Context())
	may := p.Scope.On(scope.Read, "note")
	q, err := schema.Parse(r.URL.RawQuery, may.Property) // a filter reveals what it compares
	if err != nil {
		return nil, err
	}
	ids, all := may.IDs()
	rows, err := s.pages.Query(r.Context(), q, noteTable, sqlpage.Visible{Tenant: p.Org, IDs: ids, AllIDs: all})
	page, err := collect(rows, err, func(n *note) []any { return []any{&n.ID, &n.Title, &n.Body} })
	if err != nil {
		return nil, auth.Unavailable(err)
	}
	page, more := paging.Trim(page, q.Limit)
	items := make([]json.RawMessage, len(page))
	for i, n := range page {
		n.Object = noteTable.Object
		readable := may.Of(n.ID)
		items[i], err = envelope.Select(n, func(path string) bool { return q.Wants(path) && readable(path) })
		if err != nil {
			return nil, err
		}
	}
	return envelope.List[json.RawMessage]{Data: items, HasMore: more}, nil
}

type newNote struct {
	Title string `json:"title"`
	Body  string `json:"body"`
}

func (s *service) createNote(_ http.ResponseWriter, r *http.Request, ask newNote) (any, error) {
	n := note{envelope.Item{ID: uuid.NewString(), Object: "note"}, ask.Title, ask.Body}
	_, err := s.db.ExecContext(r.Context(), `INSERT INTO notes (id, tenant_id, title, body) VALUES ($1, $2, $3, $4)`,
		n.ID, auth.From(r.Context()).Org, n.Title, n.Body)
	return n, auth.Unavailable(err)
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

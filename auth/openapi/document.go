package openapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/whole"
)

// Document is the description of the routes of a Mux. It must not be copied or changed once
// used. Its methods are safe for concurrent use.
//
// The description is made at the first use of a method. All routes must be registered before
// that. The document's own route is one of them:
//
//	mux.Handle("GET /openapi.json", auth.Public, document)
type Document struct {
	Mux     *auth.Mux // required
	Title   string    // required
	Version string    // required; of the interface that is described, like 1.4.0

	// Description is about the whole document; may use Markdown.
	Description string

	// Contact is the URL of a page for those who have questions about the interface; may be empty.
	Contact string

	// Servers are the URLs of the mount. nil: BaseURL/{org}/version for each version of the
	// Guard. They are required for a Guard with a Resolve of its own.
	Servers []string

	// Routes describe the routes further, by pattern. Each pattern must be one of the Mux.
	Routes map[string]Route

	build sync.Once
	body  []byte
	tag   string
	err   error
}

// Route describes a route further. Request and Reply are a value whose Go type describes the
// body, a body.Form, a List, a ListOf or an AnyOf. A value that is not zero is the
// example, too: it must hold nothing secret. nil leaves a body open.
type Route struct {
	Summary     string // one line; "": the pattern
	Description string // may use Markdown
	Request     any    // the body; nil: none is described
	Reply       any    // the body of a success
	MediaType   string // of the reply; "": application/json
	RequestType string // the media type of the request; "": application/json

	// BodyOptional says that a request without a body is accepted. body.Read and a Form
	// refuse it.
	BodyOptional bool

	// IdempotencyKey is "optional" or "required" if a request has the header of package idempotency.
	IdempotencyKey string

	// Status is that of a success; 0: 200. One of 201, 202 or 3xx has the header Location. One of
	// 204 or 3xx has no body unless there is a Reply.
	Status int

	// Credentials are what the handler of a Public route reads itself, as alternatives to none.
	Credentials []Scheme

	// Refusal is the body of errors that have another form than section 6 of the interface,
	// such as those of OAuth: 400, 401, 413, 429, 500 and 503. nil: none.
	Refusal any

	// List has the arguments of a list. Without a Reply, the reply is a list of its items.
	List List

	// Object has the arguments of a request for one object. Without a Reply, the reply is
	// the object.
	Object List
}

// JSON returns the document, or what keeps it from being made. Call it once all routes are registered.
// The same Mux and Document always give the same bytes.
func (d *Document) JSON() ([]byte, error) {
	d.build.Do(func() {
		if d.body, d.err = d.make(); d.err == nil {
			d.tag = whole.Tag(d.body)
		}
	})
	return slices.Clone(d.body), d.err
}

// ServeHTTP answers with the document. It has a strong ETag, answers 304, and may be cached for 5
// minutes. If there is no valid document, the answer is a 500 fault.
func (d *Document) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, err := d.JSON(); err != nil {
		auth.Fail(w, r, err)
		return
	}
	whole.Serve(w, r, "application/json; charset=utf-8", d.tag, d.body)
}

// object is a JSON object. encoding/json sorts its members, so that a document has one form.
type object = map[string]any

// maker makes one document.
type maker struct {
	*Document
	guard   *auth.Guard
	carried []carried
	schemes object // securitySchemes
	schemas schemas
	paths   map[string]object
	names   map[string]string // of the path's parameters, by the path without them
	ids     map[string]bool   // operationIds
	tags    []object          // the first segments of paths
}

func (d *Document) make() ([]byte, error) {
	if d.Mux == nil || d.Title == "" || d.Version == "" {
		return nil, errors.New("openapi: Document.Mux, Title and Version are required")
	}
	m := &maker{Document: d, guard: d.Mux.Guard(), schemes: object{}, schemas: schemas{object{"Fault": faultSchema(), "Problem": problemSchema()}, make(map[any]string)},
		paths: make(map[string]object), names: make(map[string]string), ids: make(map[string]bool), tags: []object{}}
	servers, err := m.servers()
	if err := errors.Join(err, m.readSchemes(), m.checkRoutes()); err != nil {
		return nil, err
	}
	for _, r := range d.Mux.Routes() {
		if err := m.route(r); err != nil {
			return nil, err
		}
	}
	keyed := func(r Route) bool { return r.IdempotencyKey != "" }
	components := faultComponents(m.guard.Settings().Brand.Faults, slices.ContainsFunc(slices.Collect(maps.Values(m.Routes)), keyed))
	components["schemas"], components["securitySchemes"] = m.schemas.set, m.schemes
	info := object{"title": d.Title, "version": d.Version}
	setText(info, "description", d.Description)
	if d.Contact != "" {
		info["contact"] = object{"url": d.Contact}
	}
	text, err := json.Marshal(object{"openapi": "3.1.0", "info": info, "servers": servers,
		"tags": m.tags, "paths": m.paths, "components": components})
	if err != nil {
		return nil, fmt.Errorf("openapi: an example cannot be encoded: %w", err)
	}
	return text, nil
}

// checkRoutes finds descriptions of routes that do not exist, such as misspelt ones.
func (m *maker) checkRoutes() error {
	for _, pattern := range slices.Sorted(maps.Keys(m.Routes)) {
		if !slices.ContainsFunc(m.Mux.Routes(), func(r auth.Route) bool { return strings.TrimSuffix(r.Pattern, "{$}") == pattern }) {
			return fmt.Errorf("openapi: Document.Routes has %q, which is no pattern of the Mux", pattern)
		}
		if use := m.Routes[pattern].IdempotencyKey; use != "" && use != "optional" && use != "required" {
			return fmt.Errorf("openapi: the IdempotencyKey of %q is neither optional nor required", pattern)
		}
	}
	return nil
}

func (m *maker) servers() (servers []object, err error) {
	for _, url := range m.Servers {
		servers = append(servers, object{"url": url})
	}
	switch {
	case servers != nil:
		return servers, nil
	case m.guard.Resolve != nil:
		return nil, errors.New("openapi: Document.Servers is required for a Guard with Resolve")
	}
	versions := m.guard.Versions
	if versions == nil {
		versions = []string{"v2"}
	}
	org := object{"default": "acme", "description": "The code of the tenant."}
	for _, version := range versions {
		servers = append(servers, object{"url": m.guard.BaseURL + "/{org}/" + version, "variables": object{"org": org}})
	}
	return servers, nil
}

// setText sets a member that may be missing.
func setText(o object, name, text string) {
	if text != "" {
		o[name] = text
	}
}

func ref(kind, name string) object { return object{"$ref": "#/components/" + kind + "/" + name} }

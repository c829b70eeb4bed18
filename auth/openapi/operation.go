package openapi

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/listing"
)

// methods are those that a Guard lets through, except for HEAD, which GET includes.
var methods = []string{"GET", "POST", "PUT", "PATCH", "DELETE"}

// route adds the operations of a route. A pattern without a method is a route of every method.
func (m *maker) route(r auth.Route) error {
	pattern := strings.TrimSuffix(r.Pattern, "{$}")
	path := pattern[strings.IndexByte(pattern, '/'):]
	method := strings.TrimSpace(strings.TrimSuffix(pattern, path))
	for _, one := range methods {
		if method != "" && method != one {
			continue
		}
		if err := m.operation(one, path, pattern, r.Need.Describe()); err != nil {
			return err
		}
	}
	return nil
}

func (m *maker) operation(method, path, pattern string, r listing.Need) error {
	path, parameters := m.template(path, &r)
	if m.paths[path] == nil {
		m.paths[path] = object{}
	}
	if _, taken := m.paths[path][strings.ToLower(method)]; taken {
		return fmt.Errorf("openapi: %q and another pattern are one path in OpenAPI", pattern)
	}
	own := m.Routes[pattern]
	security := m.security(r)
	for _, s := range own.Credentials {
		if !r.Public {
			return fmt.Errorf("openapi: %q has Credentials, but it is not Public", pattern)
		}
		by, err := m.require(s)
		if err != nil {
			return fmt.Errorf("openapi: a scheme of %q %w", pattern, err)
		}
		security = append(security, by)
	}
	if own.Credentials != nil {
		security = append(security, object{})
	}
	if len(security) == 0 && !r.Public { // OpenAPI would take it for a public route
		return fmt.Errorf("openapi: %q needs a mechanism that the Guard does not have", pattern)
	}
	if own.List != nil || own.Object != nil {
		if err := cmp.Or(own.List, own.Object).Describe().CheckID(m.guard.Scopes); err != nil {
			return fmt.Errorf("openapi: %q: %w", pattern, err)
		}
	}
	extension, text := need(r)
	if own.Description != "" {
		text = own.Description + "\n\n" + text
	}
	o := object{
		"operationId": m.id(method, path),
		"summary":     cmp.Or(own.Summary, method+" "+path),
		"description": text,
		"security":    security,
		"responses":   m.responses(method, own, r.Part),
	}
	if tag, _, _ := strings.Cut(path[1:], "/"); tag != "" {
		o["tags"] = []string{tag}
		if !slices.ContainsFunc(m.tags, func(known object) bool { return known["name"] == tag }) {
			m.tags = append(m.tags, object{"name": tag, "description": "What is below /" + tag + "."})
		}
	}
	if len(extension) > 0 {
		o["x-need"] = extension
	}
	parameters = append(append(parameters, m.arguments(own)...), idempotencyKey(own)...)
	if parameters != nil {
		o["parameters"] = parameters
	}
	if own.Request != nil {
		o["requestBody"] = object{"content": m.content(cmp.Or(own.RequestType, "application/json"), own.Request, true), "required": !own.BodyOptional}
	}
	m.paths[path][strings.ToLower(method)] = o
	return nil
}

// idempotencyKey describes the header of a request that is executed once.
func idempotencyKey(own Route) []object {
	if own.IdempotencyKey == "" {
		return nil
	}
	return []object{{"name": "Idempotency-Key", "in": "header", "required": own.IdempotencyKey == "required",
		"description": "A random text. A repetition with the same one gets the first response, with `Idempotent-Replayed: true`.",
		"schema":      object{"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"}}}
}

// template returns a pattern's path as OpenAPI writes it, and its parameters. Two patterns that
// differ only in the names of their parameters are one path, so the first names count.
func (m *maker) template(pattern string, r *listing.Need) (path string, parameters []object) {
	segments, shape := strings.Split(pattern, "/"), placeholder.ReplaceAllString(pattern, "{}")
	if m.names[shape] == "" {
		m.names[shape] = pattern
	}
	for i, name := range strings.Split(m.names[shape], "/") {
		if !strings.HasPrefix(name, "{") {
			continue
		}
		name = strings.TrimSuffix(strings.Trim(name, "{}"), "...")
		own := strings.Trim(segments[i], "{}")
		p := object{"name": name, "in": "path", "required": true, "schema": object{"type": "string"}}
		if strings.HasSuffix(own, "...") {
			p["description"] = "One segment or several, with slashes between them."
		}
		parameters = append(parameters, p)
		r.Operation = strings.ReplaceAll(r.Operation, "{"+own+"}", "{"+name+"}")
		segments[i] = "{" + name + "}"
	}
	return strings.Join(segments, "/"), parameters
}

// id returns an operationId that no other operation has: get_notes_by_id.
func (m *maker) id(method, path string) string {
	id := strings.ToLower(method)
	for segment := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			segment = "by_" + strings.TrimSuffix(name, "}")
		}
		id += "_" + word(segment)
	}
	unique := id
	for n := 2; m.ids[unique]; n++ {
		unique = id + "_" + strconv.Itoa(n)
	}
	m.ids[unique] = true
	return unique
}

var (
	placeholder = regexp.MustCompile(`\{[^}]*\}`)
	notInNames  = regexp.MustCompile(`[^A-Za-z0-9_]`)
)

// word replaces what may not stand in a name.
func word(text string) string { return notInNames.ReplaceAllString(text, "_") }

func (m *maker) responses(method string, own Route, part bool) object {
	status, reply := cmp.Or(own.Status, http.StatusOK), own.Reply
	switch {
	case reply != nil:
	case own.List != nil:
		reply = ListOf(own.List)
	case own.Object != nil && part:
		reply = own.Object
	case own.Object != nil:
		reply = wholeObject{own.Object}
	}
	success := object{"description": cmp.Or(map[int]string{http.StatusOK: "Success."}[status], http.StatusText(status)+".")}
	if reply != nil || status != http.StatusNoContent && status < 300 {
		success["content"] = m.content(cmp.Or(own.MediaType, "application/json"), reply, false)
	}
	if status == http.StatusCreated || status == http.StatusAccepted || status >= 300 {
		success["headers"] = object{"Location": header("string", "The URL of what to ask for next.")}
	}
	all := object{strconv.Itoa(status): success, "default": ref("responses", "Fault")}
	statuses := ownStatuses
	if method != "GET" {
		statuses = slices.Concat(statuses, changeStatuses)
	}
	if own.IdempotencyKey != "" {
		statuses = slices.Concat(statuses, keyStatuses)
	}
	for _, status := range statuses {
		all[strconv.Itoa(status)] = ref("responses", "Fault"+strconv.Itoa(status))
	}
	if own.Refusal != nil {
		refusal := m.content("application/json", own.Refusal, false)
		for _, status := range []int{400, 401, 413, 429, 500, 503} {
			all[strconv.Itoa(status)] = object{"description": http.StatusText(status) + ".", "content": refusal}
		}
	}
	return all
}

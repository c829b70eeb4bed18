package sqllist

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
)

// Items are the items of a list property: the rows of another table that have the _id of
// the object in a column.
type Items struct {
	List   *List  // required; its table has the tenants of the objects
	Parent string // required: path of the property of List that has the _id of the object
}

// listProperty is a property whose value is a list.
type listProperty struct {
	Items
	path   string
	member []byte // its name in JSON and the beginning of the list
}

func (l *List) declareLists(lists map[string]Items) error {
	for _, path := range slices.Sorted(maps.Keys(lists)) {
		of := lists[path]
		switch {
		case !isName(path) || l.schema.Visible(path):
			return fmt.Errorf("list %q: no name, or declared twice", path)
		case of.List == nil || of.List.table.Properties[of.Parent].Type != paging.String:
			return fmt.Errorf("list %q: the items have no text %q that can hold their parent", path, of.Parent)
		case of.List.table.SharedByAllTenants != l.table.SharedByAllTenants:
			return errors.New("one of the tables is SharedByAllTenants")
		}
		l.schema.Properties = append(l.schema.Properties, paging.Property{Path: path, List: &of.List.schema})
		member := append(appendText([]byte{','}, path), `:{"object":"list","data":[`...)
		l.lists = append(l.lists, listProperty{of, path, member})
	}
	return nil
}

// hasList reports whether the path is that of a list property.
func (l *List) hasList(path string) bool {
	return slices.ContainsFunc(l.lists, func(p listProperty) bool {
		below, ok := strings.CutPrefix(path, p.path)
		return ok && (below == "" || below[0] == '.' && p.List.hasList(below[1:]))
	})
}

// isShown reports whether a list property, or anything of its items, may be read.
func (l *List) isShown(prefix string, reads func(path string) bool) bool {
	return reads(strings.TrimSuffix(prefix, ".")) || reads(prefix+"object") ||
		slices.ContainsFunc(l.columns, func(c column) bool { return reads(prefix + c.path) }) ||
		slices.ContainsFunc(l.lists, func(p listProperty) bool { return p.List.isShown(prefix+p.path+".", reads) })
}

// These limit what the lists in lists of one request read, for each list property.
const (
	maxBelow = 10_000 // items of all objects together
	maxSkips = 10_000 // items that are left out
)

// addLists adds the list properties to items, by one statement each.
func (v *view) addLists(ctx context.Context, pages *sqlpage.Pages, tenant string, items []item) error {
	for _, p := range v.list.lists {
		q, asked := v.query.Lists[p.path]
		if !asked || !v.query.Wants(p.path) {
			continue
		}
		if err := p.List.view(q, v.grant, v.prefix+p.path+".").addTo(ctx, pages, tenant, p, items); err != nil {
			return err
		}
	}
	return nil
}

// addTo adds the list property p, whose items v shows, to the objects on which it may be
// read.
func (v *view) addTo(ctx context.Context, pages *sqlpage.Pages, tenant string, p listProperty, objects []item) error {
	lists, roots := map[string]*page{}, map[string]string{}
	var ids []string
	for _, o := range objects {
		if p.List.isShown(v.prefix, v.grant.Of(o.root)) {
			lists[o.id], roots[o.id], ids = &page{}, o.root, append(ids, o.id)
		}
	}
	if err := v.bound(len(ids)); err != nil || ids == nil {
		return err
	}
	items, err := v.items(roots, func(table sqlpage.Table) (*sql.Rows, error) {
		return pages.QueryEach(ctx, v.query, table, sqlpage.Visible{Tenant: tenant, AllIDs: true}, p.Parent, ids)
	})
	if err != nil {
		return err
	}
	items = slices.DeleteFunc(items, func(i item) bool { return !lists[i.parent].take(v.query.Limit) })
	if err := v.addLists(ctx, pages, tenant, items); err != nil {
		return err
	}
	for _, i := range items {
		lists[i.parent].add(i.text)
	}
	for i := range objects {
		o := &objects[i]
		if list, shown := lists[o.id]; shown {
			o.text = slices.Concat(o.text[:len(o.text)-1], p.member, list.text, fmt.Appendf(nil, `],"hasMore":%t}}`, list.more))
		}
	}
	return nil
}

// bound limits what is read for so many objects.
func (v *view) bound(objects int) error {
	if v.query.Skip*objects > maxSkips {
		return &paging.Error{Problems: []paging.Problem{{Argument: v.prefix + "skip", Text: "is too large for this many objects; ask for the list of one object"}}}
	}
	v.query.Limit = min(v.query.Limit, max(1, maxBelow/max(1, objects)))
	return nil
}

// page is the list of one object.
type page struct {
	size int
	more bool
	text []byte
}

// take counts one more item. It reports whether the page has room for it.
func (p *page) take(limit int) bool {
	if p == nil { // a text that is not UTF-8 comes back as another one
		return false
	}
	p.more = p.size == limit
	if !p.more {
		p.size++
	}
	return !p.more
}

func (p *page) add(item []byte) {
	if len(p.text) > 0 {
		p.text = append(p.text, ',')
	}
	p.text = append(p.text, item...)
}

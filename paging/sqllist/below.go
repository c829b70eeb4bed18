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

// addTo adds the list property p, whose items v shows, to those of the objects on which it
// may be read.
func (v *view) addTo(ctx context.Context, pages *sqlpage.Pages, tenant string, p listProperty, objects []item) error {
	roots := map[string]string{}
	var ids []string
	for _, o := range objects {
		if p.List.isShown(v.prefix, v.grant.Of(o.root)) {
			roots[o.id], ids = o.root, append(ids, o.id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	if v.query.Skip*len(ids) > maxSkips {
		return &paging.Error{Problems: []paging.Problem{{Argument: v.prefix + "skip", Text: "is too large for this many objects; ask for the list of one object"}}}
	}
	v.query.Limit = min(v.query.Limit, max(1, maxBelow/len(ids)))
	all, err := v.items(roots, func(table sqlpage.Table) (*sql.Rows, error) {
		return pages.QueryEach(ctx, v.query, table, sqlpage.Visible{Tenant: tenant, AllIDs: true}, p.Parent, ids)
	})
	if err != nil {
		return err
	}
	pagesOf := map[string]*page{}
	for _, id := range ids {
		pagesOf[id] = &page{}
	}
	var items []item // without those that only say that more follow
	for _, i := range all {
		of := pagesOf[i.parent]
		if of.more = of.size == v.query.Limit; !of.more {
			items, of.size = append(items, i), of.size+1
		}
	}
	if err := v.addLists(ctx, pages, tenant, items); err != nil {
		return err
	}
	for _, i := range items {
		of := pagesOf[i.parent]
		if len(of.text) > 0 {
			of.text = append(of.text, ',')
		}
		of.text = append(of.text, i.text...)
	}
	for i := range objects {
		o := &objects[i]
		if of, shown := pagesOf[o.id]; shown {
			o.text = slices.Concat(o.text[:len(o.text)-1], p.member, of.text, fmt.Appendf(nil, `],"hasMore":%t}}`, of.more))
		}
	}
	return nil
}

// page is the list of one object.
type page struct {
	size int
	more bool
	text []byte
}

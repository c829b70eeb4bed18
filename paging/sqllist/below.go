package sqllist

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/internal/ascii"
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
	member []byte // as in column
}

func (l *List) declareLists(lists map[string]Items) error {
	for _, path := range slices.Sorted(maps.Keys(lists)) {
		of := lists[path]
		switch {
		case !ascii.IsName(path) || l.schema.Visible(path):
			return fmt.Errorf("list %q: no name, or declared twice", path)
		case of.List == nil || of.List.table.Properties[of.Parent].Type != paging.String || strings.HasSuffix(of.Parent, "[]"):
			return fmt.Errorf("list %q: the items have no text %q that can hold their parent", path, of.Parent)
		case of.List.table.Where != nil:
			return fmt.Errorf("list %q: its Where has no value here", path)
		case of.List.table.SharedByAllTenants != l.table.SharedByAllTenants:
			return errors.New("one of the tables is SharedByAllTenants")
		}
		l.schema.Properties = append(l.schema.Properties, paging.Property{Path: path, List: &of.List.schema})
		l.lists = append(l.lists, listProperty{of, path, memberText(path)})
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
	return reads(strings.TrimSuffix(prefix, ".")) || reads(prefix+"_id") || reads(prefix+"object") ||
		slices.ContainsFunc(l.schema.Properties, func(p paging.Property) bool { return reads(prefix + p.Path) }) ||
		slices.ContainsFunc(l.lists, func(p listProperty) bool { return p.List.isShown(prefix+p.path+".", reads) })
}

// maxBelow limits what one list property of a request reads: the items of all objects
// together, and those that are skipped.
const maxBelow = 10_000

// addLists adds the list properties to objects, by one statement each. It returns the first of
// the objects, those that have all of their lists: at least one of them.
func (v *view) addLists(ctx context.Context, pages *sqlpage.Pages, tenant string, objects []item) (complete []item, err error) {
	for _, p := range v.list.lists {
		q, asked := v.query.Lists[p.path]
		if !asked || !v.query.Wants(p.path) {
			continue
		}
		if objects, err = p.List.view(q, v.grant, v.prefix+p.path+".", v.bytes).addTo(ctx, pages, tenant, p, objects); err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// addTo adds the list property p, whose items v shows, to the objects on which it may be
// read. It returns the objects before the first whose items were not all read.
func (v *view) addTo(ctx context.Context, pages *sqlpage.Pages, tenant string, p listProperty, objects []item) ([]item, error) {
	roots := map[string]string{}
	var ids []string
	for _, o := range objects {
		if _, twice := roots[o.id]; !twice && p.List.isShown(v.prefix, v.grant.Of(o.root)) {
			roots[o.id], ids = o.root, append(ids, o.id)
		}
	}
	if err := v.bound(len(ids)); err != nil || ids == nil {
		return objects, err
	}
	items, more, err := v.items(roots, func(table sqlpage.Table) (*sqlpage.Rows, error) {
		return pages.QueryEach(ctx, v.query, table, sqlpage.RowScope{Tenant: tenant, AllIDs: true}, p.Parent, ids)
	})
	if err != nil {
		return nil, err
	}
	var next []item // the first item that is left out for its bytes
	if more {
		next, items = items[len(items)-1:], items[:len(items)-1]
	}
	size, of := map[string]int{}, map[string][]item{}
	items = slices.DeleteFunc(items, func(i item) bool {
		size[i.parent]++
		return size[i.parent] > v.query.Limit
	})
	complete, err := v.addLists(ctx, pages, tenant, items)
	if err != nil {
		return nil, err
	}
	if len(complete) < len(items) {
		next = items[len(complete):]
	}
	for _, i := range complete {
		of[i.parent] = append(of[i.parent], i)
	}
	for i := range objects {
		o := &objects[i]
		if _, shown := roots[o.id]; !shown {
			continue
		}
		last := len(next) > 0 && o.id == next[0].parent
		if last && of[o.id] == nil {
			return objects[:i], nil
		}
		list, err := envelope.Encode(listOf(of[o.id], last || size[o.id] > v.query.Limit))
		if err != nil {
			return nil, err
		}
		o.text = slices.Concat(o.text[:len(o.text)-1], p.member, list, []byte{'}'})
		if last {
			return objects[:i+1], nil
		}
	}
	return objects, nil
}

// bound limits what is read for so many objects.
func (v *view) bound(objects int) error {
	if v.query.Skip*objects > maxBelow {
		return paging.NewError(v.prefix+"skip", "is too large for this many objects; ask for the list of one object")
	}
	v.query.Limit = min(v.query.Limit, max(1, maxBelow/max(1, objects)))
	return nil
}

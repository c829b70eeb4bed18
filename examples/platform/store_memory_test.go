package main

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
)

// TestStoredObjects holds the store to what its readers rely on: what they were
// given does not change under their hands.
func TestStoredObjects(t *testing.T) {
	m, ctx := newMemory(), t.Context()
	create := func(id string) {
		t.Helper()
		if err := m.create(ctx, &object{ID: id, Org: acme, Type: "c_note", Values: map[string]any{"c_text": "old"}}); err != nil {
			t.Fatal(err)
		}
	}
	ids := func(objects []*object) (ids []string) {
		for _, o := range objects {
			ids = append(ids, o.ID)
		}
		return ids
	}
	for _, id := range []string{"d", "b", "c"} {
		create(id)
	}
	before, err := m.list(ctx, acme, "c_note")
	if err != nil {
		t.Fatal(err)
	}

	changed, err := m.update(ctx, acme, "c_note", "b", map[string]any{"c_text": "new"})
	if err != nil || changed.Values["c_text"] != "new" {
		t.Errorf("updated: %v %v", changed, err)
	}
	if err := m.delete(ctx, acme, "c_note", "c"); err != nil {
		t.Fatal(err)
	}
	create("a")
	if diff := cmp.Diff([]string{"b", "c", "d"}, ids(before)); diff != "" {
		t.Errorf("a list from before (-want +got):\n%s", diff)
	}
	if before[0].Values["c_text"] != "old" {
		t.Errorf("an object from before: %v", before[0].Values)
	}
	after, err := m.list(ctx, acme, "c_note")
	if diff := cmp.Diff([]string{"a", "b", "d"}, ids(after)); diff != "" || err != nil {
		t.Errorf("a list from after (-want +got):\n%s\n%v", diff, err)
	}

	if err := m.create(ctx, &object{ID: "a", Org: acme, Type: "c_note"}); err == nil {
		t.Error("an id was taken twice")
	}
	for _, other := range [][2]string{{globex, "c_note"}, {acme, "c_page"}} {
		_, got := m.object(ctx, other[0], other[1], "a")
		_, updated := m.update(ctx, other[0], other[1], "a", nil)
		for _, err := range []error{got, updated, m.delete(ctx, other[0], other[1], "a")} {
			if !errors.Is(err, auth.ErrNotFound) {
				t.Errorf("in %v: %v", other, err)
			}
		}
	}
}

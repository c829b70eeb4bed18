package jsonfields_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/tenantkit/tenantkit/internal/jsonfields"
)

type (
	base struct{ ID, Name int }
	Item struct {
		base
		Kind int
	}
	Note struct {
		Item
		Kind string `json:"kind"`
	}
	Task   struct{ Item }
	Tagged struct {
		Name int `json:"ID"`
	}
	Loop struct {
		*Loop
		Item
		Own int
	}
	Ring  struct{ *Chain }
	Chain struct {
		*Ring
		Link int
	}
)

// TestOf compares with what encoding/json writes.
func TestOf(t *testing.T) {
	for _, v := range []any{
		base{}, Item{}, Note{}, Loop{}, Ring{Chain: &Chain{}}, Chain{Ring: &Ring{}},
		struct {
			Note
			Task // Kind is there twice at one depth, and what is embedded in both is not
		}{},
		struct {
			Item
			Note
		}{},
		struct {
			Tagged
			base
		}{},
		struct {
			Tagged
			Other Tagged `json:"Name"`
			Task
		}{},
		struct {
			Note `json:"note"`
			Task `json:"-"`
			Kind int `json:",omitempty"`
		}{Kind: 1},
	} {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var members map[string]any
		if err := json.Unmarshal(text, &members); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range jsonfields.Of(reflect.TypeOf(v)) {
			got = append(got, f.Name)
		}
		if want := slices.Sorted(maps.Keys(members)); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
			t.Errorf("%T: %q, want %q", v, got, want)
		}
	}
}

package envelope_test

import (
	"encoding/json"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/envelope"
)

// below returns a keep that permits the given paths and the paths below them, like a
// grant of a scope.
func below(paths ...string) func(string) bool {
	return func(path string) bool {
		return slices.ContainsFunc(paths, func(p string) bool {
			rest, ok := strings.CutPrefix(path, p)
			return ok && (rest == "" || rest[0] == '.' || rest[0] == '#')
		})
	}
}

func TestSelect(t *testing.T) {
	const message = `{"_id":"1","object":"c_message","c_text":"hi","c_likes":9007199254740993,` +
		`"c_meta":{"lang":null,"tone":"dry"},"name":{"first":"A","last":"B"}}`
	const lists = `{"_id":"1","object":"c_a","connections":{"object":"list","data":[` +
		`{"_id":"7","object":"connection","access":4,"target":"x"},{"_id":"8","object":"connection","target":"y"}],"hasMore":true}}`
	const sets = `{"_id":"1","object":"c_a","tags":["x","y"],"grid":[[1,2],[3]],"c_set":[` +
		`{"_id":"2","object":"c_foo","c_string_arr":["p"],"n":1},{"_id":"3","object":"c_bar","c_string_arr":["q"]}]}`

	tests := map[string]struct {
		in   string
		keep func(string) bool
		want string
	}{
		"one property": {message, below("c_text"),
			`{"_id":"1","object":"c_message","c_text":"hi"}`},
		"C06 a parent brings what is below": {message, below("name"),
			`{"_id":"1","object":"c_message","name":{"first":"A","last":"B"}}`},
		"C06 a child brings neither parent nor sibling": {message, below("name.first"),
			`{"_id":"1","object":"c_message","name":{"first":"A"}}`},
		"C04 a longer name is another name": {message, below("c_tex", "nam", "name.firs"),
			`{"_id":"1","object":"c_message"}`},
		"no number is rounded": {message, below("c_likes"),
			`{"_id":"1","object":"c_message","c_likes":9007199254740993}`},
		"null is a leaf": {message, below("c_meta.lang"),
			`{"_id":"1","object":"c_message","c_meta":{"lang":null}}`},
		"everything": {message, func(string) bool { return true }, message},
		"nil keeps what identifies": {message, nil,
			`{"_id":"1","object":"c_message"}`},
		"every number as it was written": {`{"a":1.0,"b":-0,"c":1e400,"d":0.1000000000000000055511151231257827}`,
			func(string) bool { return true },
			`{"a":1.0,"b":-0,"c":1e400,"d":0.1000000000000000055511151231257827}`},
		"an identity that is an object is a property": {`{"_id":{"secret":1},"object":["x"],"a":2}`, below("a"),
			`{"a":2}`},

		"an inner identity alone is not kept": {`{"creator":{"_id":"9","object":"account","email":"e"}}`, below("owner"),
			`{}`},
		"an inner identity stays beside what is kept": {`{"creator":{"_id":"9","object":"account","email":"e","n":1}}`, below("creator.email"),
			`{"creator":{"_id":"9","object":"account","email":"e"}}`},
		"an inner identity can be asked for": {`{"creator":{"_id":"9","object":"account"}}`, below("creator"),
			`{"creator":{"_id":"9","object":"account"}}`},
		"an empty object is a leaf": {`{"a":{},"b":{}}`, below("a"), `{"a":{}}`},
		"an empty array is a leaf":  {`{"a":[],"b":[]}`, below("a[]"), `{"a":[]}`},

		"an array of strings":      {sets, below("tags[]"), `{"_id":"1","object":"c_a","tags":["x","y"]}`},
		"an array of arrays":       {sets, below("grid[]"), `{"_id":"1","object":"c_a","grid":[[1,2],[3]]}`},
		"C04 an array's bare name": {sets, below("tags", "c_set"), `{"_id":"1","object":"c_a"}`},
		"C07 elements of any type": {sets, below("c_set[]"), `{"_id":"1","object":"c_a","c_set":[` +
			`{"_id":"2","object":"c_foo","c_string_arr":["p"],"n":1},{"_id":"3","object":"c_bar","c_string_arr":["q"]}]}`},
		"C07 one property of one type": {sets, below("c_set[]#c_foo.c_string_arr[]"),
			`{"_id":"1","object":"c_a","c_set":[{"_id":"2","object":"c_foo","c_string_arr":["p"]}]}`},
		"a type that would lengthen the path is none": {`{"s":[{"object":"c_foo.n","x":1}]}`, below("s[]#c_foo"),
			`{}`},

		"a list by its own name": {lists, below("connections"), lists},
		"a property of a list's items drops no item": {lists, below("connections.access"),
			`{"_id":"1","object":"c_a","connections":{"object":"list","data":[` +
				`{"_id":"7","object":"connection","access":4},{"_id":"8","object":"connection"}],"hasMore":true}}`},
		"a list nobody asked for": {lists, below("target"), `{"_id":"1","object":"c_a"}`},
		"an empty list": {`{"l":{"object":"list","data":[],"hasMore":false},"m":{"object":"list","data":[],"hasMore":false}}`, below("l"),
			`{"l":{"object":"list","data":[],"hasMore":false}}`},
		"what only looks like a list is asked like an object": {
			`{"l":{"object":"list","data":[{"a":1}],"hasMore":"secret","x":2}}`, below("l.a"), `{}`},
		"a page": {`{"object":"list","data":[{"_id":"1","object":"c","a":1,"b":2},{"_id":"2","object":"c","b":3}],"hasMore":true}`, below("a"),
			`{"object":"list","data":[{"_id":"1","object":"c","a":1},{"_id":"2","object":"c"}],"hasMore":true}`},

		"a name with a dot is no path": {`{"name.first":1,"a":{"b.c":2}}`, below("name", "a.b"), `{}`},
		"a name with a dot can be had": {`{"name.first":1,"a[]":3,"#":4,"%2E":5,"":6}`,
			below("name%2Efirst", "a%5B%5D", "%23", "%252E", "%"),
			`{"name.first":1,"a[]":3,"#":4,"%2E":5,"":6}`},
		"an escaped name is the name": {`{"c_\u0074ext":"\u0000\u2028\"}"}`, below("c_text"), `{"c_\u0074ext":"\u0000\u2028\"}"}`},
		"a long path is a leaf": {`{"` + strings.Repeat("n", 513) + `":{"a":{"b":1}}}`, below(strings.Repeat("n", 513)),
			`{"` + strings.Repeat("n", 513) + `":{"a":{"b":1}}}`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := envelope.Select(json.RawMessage(tc.in), tc.keep)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSelectAsksForLeavesOnly(t *testing.T) {
	var asked []string
	in := json.RawMessage(`{"_id":"1","a":{"b":1,"c":{}},"s":[1,[2],{"object":"c_t","d":[]},{"e":null}],` +
		`"l":{"object":"list","data":[{"_id":"2","f":3}],"hasMore":false}}`)
	if _, err := envelope.Select(in, func(path string) bool { asked = append(asked, path); return false }); err != nil {
		t.Fatal(err)
	}
	want := []string{"_id", "a.b", "a.c", "s[]", "s[]", "s[]#c_t.object", "s[]#c_t.d[]", "s[].e", "l._id", "l.f", "l"}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Error(diff)
	}
}

func TestSelectRefuses(t *testing.T) {
	for _, v := range []any{nil, 1, "x", []int{1}, json.RawMessage(`[{}]`)} {
		if _, err := envelope.Select(v, nil); !errors.Is(err, envelope.ErrShape) {
			t.Errorf("%v: got %v", v, err)
		}
	}
	if _, err := envelope.Select(func() {}, nil); err == nil {
		t.Error("encoded a function")
	}
}

func TestSelectCostsInProportion(t *testing.T) {
	inputs := map[string]string{
		"many levels":             `{"a":` + strings.Repeat(`{"a":`, 9_000) + `1` + strings.Repeat(`}`, 9_000) + `}`,
		"a long name above many":  `{"` + strings.Repeat("k", 400_000) + `":[` + strings.Repeat(`{"a":1},`, 50_000) + `{}]}`,
		"long names on the way":   `{"` + strings.Repeat("k", 500) + `":{"` + strings.Repeat("k", 500) + `":[` + strings.Repeat(`{"a":1},`, 50_000) + `{}]}}`,
		"many arrays in each one": `{"a":` + strings.Repeat(`[`, 9_000) + strings.Repeat(`]`, 9_000) + `}`,
	}
	for name, in := range inputs {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if _, err := envelope.Select(json.RawMessage(in), func(string) bool { return false }); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
				t.Errorf("allocated %d bytes for %d", took, len(in))
			}
		})
	}
}

package strictjson_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/internal/strictjson"
)

var limits = strictjson.Limits{Depth: 16, Members: 64, AllowNUL: true}

// read reads any value. Numbers stay as they are written.
func read(r *strictjson.Reader) any {
	switch r.Kind() {
	case '{':
		object := map[string]any{}
		for name := range r.Object {
			object[name] = read(r)
		}
		return object
	case '[':
		array := []any{}
		for range r.Array {
			array = append(array, read(r))
		}
		return array
	case '"':
		return r.Text()
	case '0':
		return json.Number(r.Number())
	case 't', 'f':
		return r.Bool()
	}
	r.Skip()
	return nil
}

// members returns the text of n members.
func members(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, `,"x%d":1`, i)
	}
	return strings.TrimPrefix(text.String(), ",")
}

func nested(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }

var accepted = map[string]any{
	`{}`:                                    map[string]any{},
	"\t\r\n [ ] ":                           []any{},
	`"a"`:                                   "a",
	`null`:                                  nil,
	`[true,false,null]`:                     []any{true, false, nil},
	` { "a" : [ 1 , -0.0 ] } `:              map[string]any{"a": []any{json.Number("1"), json.Number("-0.0")}},
	`{"":{"":{}},"a":{"":1}}`:               map[string]any{"": map[string]any{"": map[string]any{}}, "a": map[string]any{"": json.Number("1")}},
	`{"sub":1,"SUB":2,"ſub":3}`:             map[string]any{"sub": json.Number("1"), "SUB": json.Number("2"), "ſub": json.Number("3")},
	`[9007199254740993,1e400,1E+5,-1.5e-3]`: []any{json.Number("9007199254740993"), json.Number("1e400"), json.Number("1E+5"), json.Number("-1.5e-3")},
	`"\"\\\/\b\f\n\r\t\u00E9\u20ac\uD83D\uDE00\ufffd\u0000\u007f"`: "\"\\/\b\f\n\r\té€😀\ufffd\x00\x7f",
	"\"é😀\ufffd\x7f\"": "é😀\ufffd\x7f",
}

func TestReader(t *testing.T) {
	for text, want := range accepted {
		r := strictjson.New(text, limits)
		got := read(&r)
		if err := r.End(); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", text, diff)
		}
		if r.Offset() != len(text) {
			t.Errorf("%s: read %d bytes", text, r.Offset())
		}
	}
}

// refused are texts, each with the error and the offset of its refusal.
var refused = map[string]struct {
	text string
	want error
	at   int
}{
	"nothing":                        {``, strictjson.ErrValue, 0},
	"blanks":                         {`  `, strictjson.ErrValue, 2},
	"a byte order mark":              {"\ufeff{}", strictjson.ErrValue, 0},
	"a word":                         {`[NaN]`, strictjson.ErrValue, 1},
	"a word in capitals":             {`[TRUE]`, strictjson.ErrValue, 1},
	"half of true":                   {`[tru]`, strictjson.ErrValue, 1},
	"half of false":                  {`[fals`, strictjson.ErrValue, 1},
	"half of null":                   {`[nul`, strictjson.ErrValue, 1},
	"a comma too many in an array":   {`[1,]`, strictjson.ErrValue, 3},
	"a comma alone":                  {`[,]`, strictjson.ErrValue, 1},
	"a value that is missing":        {`{"a":}`, strictjson.ErrValue, 5},
	"a plus":                         {`+1`, strictjson.ErrValue, 0},
	"no digits before the point":     {`.1`, strictjson.ErrValue, 0},
	"NUL":                            {"\x00", strictjson.ErrValue, 0},
	"a leading zero":                 {`01`, strictjson.ErrNumber, 2},
	"a minus alone":                  {`-`, strictjson.ErrNumber, 1},
	"minus infinity":                 {`-Infinity`, strictjson.ErrNumber, 1},
	"no digits after the point":      {`[1.]`, strictjson.ErrNumber, 3},
	"no digits in the exponent":      {`1e`, strictjson.ErrNumber, 2},
	"an exponent of two signs":       {`1e+-5`, strictjson.ErrNumber, 3},
	"hexadecimal":                    {`0x10`, strictjson.ErrTrailing, 1},
	"a string without end":           {`"a`, strictjson.ErrString, 2},
	"one without end after escape":   {`"\na`, strictjson.ErrString, 4},
	"a control character":            {"\"a\nb\"", strictjson.ErrControl, 2},
	"NUL as it is":                   {"\"\x00\"", strictjson.ErrControl, 1},
	"a tab after an escape":          {"\"\\t\t\"", strictjson.ErrControl, 3},
	"an unknown escape":              {`"\x41"`, strictjson.ErrEscape, 2},
	"an escape without end":          {`"\`, strictjson.ErrEscape, 2},
	"a short code point":             {`"\u12`, strictjson.ErrEscape, 3},
	"a code point that is not hex":   {`"\u12x4"`, strictjson.ErrEscape, 3},
	"a code point with a sign":       {`"\u+123"`, strictjson.ErrEscape, 3},
	"a code point with a low line":   {`"\u1_23"`, strictjson.ErrEscape, 3},
	"half a pair, and less":          {`"\ud83d\u12"`, strictjson.ErrEscape, 9},
	"a name that is missing":         {`{"a":1,}`, strictjson.ErrName, 7},
	"a name without quotes":          {`{a:1}`, strictjson.ErrName, 1},
	"single quotes":                  {`{'a':1}`, strictjson.ErrName, 1},
	"a number for a name":            {`{1:1}`, strictjson.ErrName, 1},
	"an object that only begins":     {`{`, strictjson.ErrName, 1},
	"no colon":                       {`{"a" 1}`, strictjson.ErrColon, 5},
	"no comma between members":       {`{"a":1"b":2}`, strictjson.ErrComma, 6},
	"no comma between elements":      {`[1 2]`, strictjson.ErrComma, 3},
	"a comment":                      {`[1/**/]`, strictjson.ErrComma, 2},
	"an array without end":           {`[1`, strictjson.ErrComma, 2},
	"a bracket of the other kind":    {`[1}`, strictjson.ErrComma, 2},
	"two values":                     {`{} {}`, strictjson.ErrTrailing, 3},
	"a closing bracket after it":     {`[]]`, strictjson.ErrTrailing, 2},
	"NUL after it":                   {"1\x00", strictjson.ErrTrailing, 1},
	"bytes that are not UTF-8":       {"\"\xff\"", strictjson.ErrUTF8, 0},
	"UTF-8 that is too long":         {"\"\xc0\xaf\"", strictjson.ErrUTF8, 0},
	"a surrogate in UTF-8":           {"\"\xed\xa0\x80\"", strictjson.ErrUTF8, 0},
	"a high surrogate":               {`"\ud800"`, strictjson.ErrSurrogate, 7},
	"a high surrogate, then a line":  {`"\ud83d\n"`, strictjson.ErrSurrogate, 7},
	"a high surrogate, then a":       {`"\ud800\u0061"`, strictjson.ErrSurrogate, 13},
	"two high surrogates":            {`"\ud800\ud800"`, strictjson.ErrSurrogate, 13},
	"a low surrogate":                {`"\udc00"`, strictjson.ErrSurrogate, 7},
	"surrogates reversed":            {`"\udc00\ud800"`, strictjson.ErrSurrogate, 13},
	"a surrogate in a name":          {`{"\ud800":1}`, strictjson.ErrSurrogate, 8},
	"a name twice":                   {`{"a":1,"b":2,"a":3}`, strictjson.ErrDuplicate, 16},
	"a name twice, escaped":          {`{"a":1,"\u0061":2}`, strictjson.ErrDuplicate, 15},
	"an empty name twice":            {`{"":1,"":2}`, strictjson.ErrDuplicate, 8},
	"a name twice, beyond an object": {`{"a":{"b":[],"c":{},"b":[]}}`, strictjson.ErrDuplicate, 23},
	"a name twice in an array":       {`[[{"a":[{}],"b":[{"x":true,"y":0,"x":1}]}]]`, strictjson.ErrDuplicate, 36},
	"depth 17":                       {nested(17), strictjson.ErrDepth, 16},
	"depth 17 of objects":            {strings.Repeat(`{"a":`, 17), strictjson.ErrDepth, 80},
	"depth 100,000":                  {strings.Repeat(`[`, 100_000), strictjson.ErrDepth, 16},
	"65 members":                     {`{` + members(65) + `}`, strictjson.ErrMembers, 508},
}

func TestReaderRefuses(t *testing.T) {
	for name, tc := range refused {
		t.Run(name, func(t *testing.T) {
			for how, read := range map[string]func(*strictjson.Reader){
				"read":    func(r *strictjson.Reader) { read(r) },
				"skipped": func(r *strictjson.Reader) { r.Skip() },
			} {
				r := strictjson.New(tc.text, limits)
				read(&r)
				if err := r.End(); err != tc.want || r.Offset() != tc.at {
					t.Errorf("%s: %v at %d, want %v at %d", how, err, r.Offset(), tc.want, tc.at)
				}
			}
		})
	}
}

func TestReaderUpToItsLimits(t *testing.T) {
	for _, text := range []string{
		nested(16), strings.Repeat(`{"a":`, 16) + `1` + strings.Repeat(`}`, 16), `{` + members(64) + `}`,
		`[` + strings.Repeat(nested(15)+`,`, 1000) + `1]`,
	} {
		r := strictjson.New(text, limits)
		if got := r.Skip(); r.End() != nil || got != text {
			t.Errorf("%.60s: %v", text, r.End())
		}
	}
	r := strictjson.New(`"\u0000"`, strictjson.Limits{})
	if r.Skip(); r.End() != strictjson.ErrNUL || r.Offset() != 7 {
		t.Errorf("NUL that is not allowed: %v at %d", r.End(), r.Offset())
	}
	for _, text := range []string{`{}`, `[]`} {
		r := strictjson.New(text, strictjson.Limits{})
		if r.Skip(); r.End() != strictjson.ErrDepth {
			t.Errorf("%s without limits: %v", text, r.End())
		}
	}
}

func TestReaderTellsTypesApart(t *testing.T) {
	methods := map[byte]func(*strictjson.Reader){
		'{': func(r *strictjson.Reader) { r.Object(func(string) bool { return true }) },
		'[': func(r *strictjson.Reader) { r.Array(func() bool { return true }) },
		'"': func(r *strictjson.Reader) { r.Text() },
		'0': func(r *strictjson.Reader) { r.Number() },
		't': func(r *strictjson.Reader) { r.Bool() },
		'f': func(r *strictjson.Reader) { r.Bool() },
	}
	for _, text := range []string{`{}`, `[]`, `""`, `0`, `-1`, `9`, `true`, `false`, `null`, `x`, `'`, `+1`} {
		r := strictjson.New(text, limits)
		kind := r.Kind()
		for wanted, method := range methods {
			r, want := r, strictjson.ErrType
			switch {
			case kind == 0:
				want = strictjson.ErrValue
			case wanted == kind || kind == 't' && wanted == 'f' || kind == 'f' && wanted == 't':
				want = nil
			}
			if method(&r); r.End() != want {
				t.Errorf("%s read as %c: %v, want %v", text, wanted, r.End(), want)
			}
		}
	}
}

// If a caller uses the Reader wrongly, End returns an error.
func TestReaderFailsClosed(t *testing.T) {
	own := errors.New("not wanted")
	for name, tc := range map[string]struct {
		text string
		read func(*strictjson.Reader)
		want error
	}{
		"nothing is read": {`{}`, func(r *strictjson.Reader) {}, strictjson.ErrTrailing},
		"a member is not read": {`{"a":1}`, func(r *strictjson.Reader) {
			for range r.Object {
			}
		}, strictjson.ErrComma},
		"an element is not read": {`[1]`, func(r *strictjson.Reader) {
			for range r.Array {
			}
		}, strictjson.ErrComma},
		"a loop is left": {`[1,2]`, func(r *strictjson.Reader) {
			for range r.Array {
				r.Skip()
				break
			}
		}, strictjson.ErrTrailing},
		"a loop over members too": {`{"a":1,"b":2}`, func(r *strictjson.Reader) {
			for range r.Object {
				r.Skip()
				break
			}
		}, strictjson.ErrTrailing},
		"the caller refuses": {`[1,2]`, func(r *strictjson.Reader) {
			for range r.Array {
				r.Skip()
				r.Fail(own)
			}
		}, own},
		"the caller refuses late": {`[1,x]`, func(r *strictjson.Reader) { r.Skip(); r.Fail(own) }, strictjson.ErrValue},
		"more is read afterwards": {`[1,x],"a"`, func(r *strictjson.Reader) { r.Skip(); r.Text(); r.Skip(); r.Bool() }, strictjson.ErrValue},
	} {
		t.Run(name, func(t *testing.T) {
			r := strictjson.New(tc.text, limits)
			tc.read(&r)
			if err := r.End(); err != tc.want {
				t.Errorf("%v, want %v", err, tc.want)
			}
		})
	}
}

func TestReaderAllocatesNothing(t *testing.T) {
	const text = `{"a":"x","b":[1,-2.5e3,true,null],"c":{"a":{"b":"y"},"d":"z"}}`
	var names int
	if n := testing.AllocsPerRun(100, func() {
		r := strictjson.New(text, limits)
		for name := range r.Object {
			names += len(name)
			r.Skip()
		}
		if r.End() != nil {
			t.Fatal(r.End())
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
	refused := text + "x"
	if n := testing.AllocsPerRun(100, func() {
		r := strictjson.New(refused, limits)
		if r.Skip(); r.End() == nil {
			t.Fatal("accepted")
		}
	}); n > 0 {
		t.Errorf("%v allocations to refuse", n)
	}
}

func TestIsNumber(t *testing.T) {
	for text, want := range map[string]bool{
		"0": true, "-0": true, "-0.10": true, "12": true, "1e5": true, "1E+5": true, "1.5e-300": true, strings.Repeat("9", 1000): true,
		"": false, " 1": false, "1 ": false, "01": false, "-": false, "+1": false, "1.": false, ".1": false, "1e": false, "1e+": false,
		"0x1": false, "1_0": false, "NaN": false, "1,": false, "[1]": false,
	} {
		if got := strictjson.IsNumber(text); got != want {
			t.Errorf("%.60q: %t", text, got)
		}
	}
}

func TestDuplicatesAreLeftToTheCaller(t *testing.T) {
	limits := limits
	limits.AllowDuplicates = true
	r := strictjson.New(`{"a":{"b":1,"b":2},"\u0061":3}`, limits)
	var names []string
	for name := range r.Object {
		names = append(names, name)
		r.Skip()
	}
	if err := r.End(); err != nil || !cmp.Equal(names, []string{"a", "a"}) {
		t.Errorf("%v, %v", names, err)
	}
}

func TestReplacedAsByEncodingJSON(t *testing.T) {
	limits := limits
	limits.AllowReplaced = true
	for _, text := range []string{`"\ud800"`, `"\ud800\u0041"`, `"\udc00\ud800"`, "\"\xff\""} {
		r := strictjson.New(text, limits)
		got := r.Text()
		var want string
		if err := json.Unmarshal([]byte(text), &want); err != nil || r.End() != nil || strings.ToValidUTF8(got, "\ufffd") != want {
			t.Errorf("%q: %q, want %q, %v %v", text, got, want, err, r.End())
		}
	}
}

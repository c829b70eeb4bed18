package strictjson_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	josejson "github.com/go-jose/go-jose/v4/json"
	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/internal/strictjson"
)

// narrower lists the reasons to refuse a text that encoding/json accepts, each with a
// check that the reason is true. go-jose refuses duplicate names too.
var narrower = map[error]func(text string) bool{
	strictjson.ErrUTF8:      func(s string) bool { return !utf8.ValidString(s) },
	strictjson.ErrSurrogate: func(s string) bool { return strings.Contains(strings.ToLower(s), `\ud`) },
	strictjson.ErrNUL:       func(s string) bool { return strings.Contains(s, `\u0000`) },
	strictjson.ErrDuplicate: func(s string) bool { return josejson.Unmarshal([]byte(s), new(any)) != nil },
	strictjson.ErrDepth:     func(s string) bool { return strings.Count(s, "[")+strings.Count(s, "{") > limits.Depth },
	strictjson.ErrMembers:   func(s string) bool { return strings.Count(s, ":") > limits.Members },
}

// FuzzReader compares the Reader with encoding/json. The Reader accepts nothing that
// encoding/json refuses, and reads the same values. It refuses other texts only for a
// listed reason.
func FuzzReader(f *testing.F) {
	k := strings.Repeat("k", 43)
	for text := range accepted {
		f.Add(text, true)
	}
	for _, tc := range refused {
		f.Add(tc.text, true)
	}
	for _, text := range []string{
		`{"alg":"RS256","kid":"` + k + `","typ":"JWT"}`, `{"\u0061lg":"RS256","kid":"` + k + `"}`, `{"alg":"RS256","kid":"` + k + `","crit":[]}`,
		`{"iss":"a","sub":"b","aud":"c","iat":1,"service/scp":[""],"service/rls":["x","y"],"service/skp":true,"service/gnt":"read"}`,
		`{"iss":"a","SUB":"y","ſub":"y","x":[1e400,{"y":null}],"z":"\ud83d\ude00\n"}`, `{"iss":"a","iss":"b"}`, `{"iss":"\u0000"}`,
		`{"a":{"$gt":1,"$not":{"$in":[null,"x",1e5,-0.0]}},"$nor":[{"b":true},{}]}`, ` {} x`, `{"$where":"sleep(1000)"}`,
		`{"$and":[{"c_text":"],[\"}"},{"$or":[{"c_likes":{"$gt":5}},{"$and":[{"c_likes":5},{"_id":{"$gt":"n"}}]}]}]}`, `{"a":1e999999999}`,
		`{"c_sent":1,"_id":-1}`, `{"c_sent":1}{"c_likes":1}`, `{"c_likes":-1.0}`,
		" {\t\"need\" : \"admin\", \"grants\" : [ \"*\" ] } \r", `{"grants":[],"need":"admin","grants":[""]}`, `{"grants":[null],"need":"\u0061dmin"`,
		`{"a":1,"b":"a","c":{"a":{"a":null}},"d":[{"a":1},{"a":2}]}`, `["a","a",["a","a"]]`,
		`{"object":"list","data":[{"_id":"1"},{"_id":"2","a":[{"b":"]}"}]},{"_id":"3"}],"hasMore":true}`,
		`{"data":[{"a":"\"\\\""},{"a":"\\\\"}],"object":"list"}`, `{"object":"list","DATA":[1],"d\u0061ta":[2,3],"da":[4]}`,
		` { "data" : [ null , true , -1.5e3 , "x" , [ ] , { } ] , "more" : { "data" : [ 1 ] } , "object" : "list" } `,
		`{"data":[],"object":"fault","object":"list"}`, `{"data":[1`, `}`, `{:,]`, `<html>`, `{"a":1,"A":2}`, `"\u2028\u2029<>&"`,
	} {
		f.Add(text, false)
	}
	f.Fuzz(func(t *testing.T, text string, allowNUL bool) {
		limits := limits
		limits.AllowNUL = allowNUL
		r := strictjson.New(text, limits)
		got := read(&r)
		err := r.End()

		skipper := strictjson.New(text, limits)
		raw := skipper.Skip()
		if skipErr := skipper.End(); skipErr != err || skipper.Offset() != r.Offset() {
			t.Fatalf("%q: read %v at %d, skipped %v at %d", text, err, r.Offset(), skipErr, skipper.Offset())
		}
		if r.Offset() > len(text) {
			t.Fatalf("%q: at %d", text, r.Offset())
		}
		if err != nil {
			if holds, ok := narrower[err]; ok && !holds(text) || !ok && json.Valid([]byte(text)) {
				t.Fatalf("%q is refused for %v, which is not so", text, err)
			}
			return
		}
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.UseNumber()
		var want any
		if err := decoder.Decode(&want); err != nil || !json.Valid([]byte(text)) {
			t.Fatalf("encoding/json refuses %q: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("encoding/json reads %q otherwise:\n%s", text, diff)
		}
		if raw != strings.Trim(text, " \t\r\n") {
			t.Fatalf("%q was skipped as %q", text, raw)
		}
	})
}

package paging_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/paging"
)

func TestParseFilter(t *testing.T) {
	tests := map[string]string{ // to the canonical form
		`{}`:                                            `{}`,
		` { "a" : 1 } `:                                 `{"a":1}`,
		`{"a":{"$eq":"x"}}`:                             `{"a":"x"}`,
		`{"a":null}`:                                    `{"a":null}`,
		`{"a":true,"b":false}`:                          `{"$and":[{"a":true},{"b":false}]}`,
		`{"a":{"$gt":1,"$lte":5}}`:                      `{"$and":[{"a":{"$gt":1}},{"a":{"$lte":5}}]}`,
		`{"a":{"$gte":"x"},"b":{"$lt":"y"}}`:            `{"$and":[{"a":{"$gte":"x"}},{"b":{"$lt":"y"}}]}`,
		`{"a":{"$ne":null}}`:                            `{"a":{"$ne":null}}`,
		`{"a":{"$not":{"$eq":1}}}`:                      `{"a":{"$ne":1}}`,
		`{"a":{"$in":[]}}`:                              `{"a":{"$in":[]}}`,
		`{"a":{"$in":[1,"x",null,true]}}`:               `{"a":{"$in":[1,"x",null,true]}}`,
		`{"a":{"$nin":["x"]}}`:                          `{"a":{"$nin":["x"]}}`,
		`{"a":{"$prefix":"ab"}}`:                        `{"$and":[{"a":{"$gte":"ab"}},{"a":{"$lt":"ac"}}]}`,
		`{"a":{"$prefix":""}}`:                          `{"a":{"$gte":""}}`,
		`{"a":{"$not":{"$prefix":"ab"}}}`:               `{"$nor":[{"$and":[{"a":{"$gte":"ab"}},{"a":{"$lt":"ac"}}]}]}`,
		`{"a":{"$exists":true}}`:                        `{"a":{"$exists":true}}`,
		`{"a":{"$exists":false}}`:                       `{"a":{"$exists":false}}`,
		`{"a":{"$not":{"$gt":5}}}`:                      `{"$nor":[{"a":{"$gt":5}}]}`,
		`{"a":{"$not":{"$gt":5,"$lt":9}}}`:              `{"$nor":[{"$and":[{"a":{"$gt":5}},{"a":{"$lt":9}}]}]}`,
		`{"a":{"$not":{"$not":{"$gt":5}}}}`:             `{"a":{"$gt":5}}`,
		`{"$and":[{"a":1}]}`:                            `{"a":1}`,
		`{"$and":[{"a":1},{"$and":[{"b":2},{"c":3}]}]}`: `{"$and":[{"a":1},{"b":2},{"c":3}]}`,
		`{"$or":[{"a":1},{"a":2}]}`:                     `{"$or":[{"a":1},{"a":2}]}`,
		`{"$or":[{"a":1},{}]}`:                          `{}`,
		`{"$or":[{"a":1},{"$nor":[{}]}]}`:               `{"a":1}`,
		`{"$nor":[{"a":1},{"b":2}]}`:                    `{"$nor":[{"a":1},{"b":2}]}`,
		`{"$nor":[{"a":1}]}`:                            `{"a":{"$ne":1}}`,
		`{"$nor":[{}]}`:                                 `{"$nor":[{}]}`,
		`{"$nor":[{"$nor":[{"a":1},{"b":2}]}]}`:         `{"$or":[{"a":1},{"b":2}]}`,
		`{"$or":[{"a":1}],"b":2}`:                       `{"$and":[{"a":1},{"b":2}]}`,
		`{"a.b-c_d[]#c_x.e":1}`:                         `{"a.b-c_d[]#c_x.e":1}`,

		`{"a":9007199254740993}`: `{"a":9007199254740993}`,
		`{"a":-0.10}`:            `{"a":-0.10}`,
		`{"a":[1]}`:              ``,
		`{"a":1e400}`:            ``,
		`{"a":123456789012345678901234567890123456789012345678901234567890}`: `{"a":123456789012345678901234567890123456789012345678901234567890}`,

		`{"a":"\u0041\n\"\\\/\ud83d\ude00<&>é"}`:    `{"a":"A\u000a\"\\/😀<&>é"}`,
		`{"a":"\b\f\r\t"}`:                          `{"a":"\u0008\u000c\u000d\u0009"}`,
		`{"\u0061":1}`:                              `{"a":1}`,
		`{"a":` + strings.Repeat("9", 64) + `}`:     `{"a":` + strings.Repeat("9", 64) + `}`,
		`{"` + strings.Repeat("a", 40) + `":1}`:     `{"` + strings.Repeat("a", 40) + `":1}`,
		`{"` + strings.Repeat("a", 41) + `":1}`:     ``,
		`{"` + strings.Repeat("a.", 255) + `aa":1}`: `{"` + strings.Repeat("a.", 255) + `aa":1}`,
		`{"` + strings.Repeat("a.", 256) + `a":1}`:  ``,
		`{"a b":1}`:      ``,
		`{"a..b":null}`:  ``,
		`{"a":"$where"}`: `{"a":"$where"}`,
	}
	for text, want := range tests {
		f, err := paging.ParseFilter(text)
		if want == "" {
			if err == nil {
				t.Errorf("%s: accepted", text)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, f.String()); diff != "" {
			t.Errorf("%s:\n%s", text, diff)
		}
		again, err := paging.ParseFilter(f.String())
		if err != nil || again.String() != f.String() {
			t.Errorf("%s: again %s, %v", text, again, err)
		}
	}
}

// refusedFilters are texts that are no filter, with the problems that are reported.
var refusedFilters = map[string]struct{ where, want string }{
	"P04 9 KiB":                        {`{"c_text":"` + strings.Repeat("x", 9<<10) + `"}`, " longer than 8192 bytes"},
	"P04 depth 17":                     {strings.Repeat(`{"$and":[`, 7) + `{"c_likes":{"$in":[1]}}` + strings.Repeat(`]}`, 7), " nested too deeply at byte 81"},
	"P04 257 conditions":               {`{"$or":[` + repeated(256, `{"c_likes":{"$exists":true}}`) + `]}`, " more than 256 conditions"},
	"P04 257 conditions that are $in":  {`{"$or":[` + repeated(256, `{"c_likes":{"$in":[]}}`) + `]}`, " more than 256 conditions"},
	"P04 201 values":                   {`{"c_likes":{"$in":[` + repeated(201, "1") + `]}}`, " more than 200 values"},
	"P04 201 values in 201 conditions": {`{"$or":[` + repeated(201, `{"c_likes":1}`) + `]}`, " more than 200 values"},
	"P04 values without end":           {`{"c_likes":{"$in":[` + repeated(2000, "1") + `]}}`, " too many values"},

	"P04 conditions without end": {`{"$and":[` + repeated(2700, "{}") + `]}`, " too many values at byte 6150"},

	"P04 129 prefixes": {`{"$or":[` + repeated(129, `{"c_text":{"$prefix":"a"}}`) + `]}`, " more than 256 conditions"},

	"P05 null":                       {`null`, " must be a JSON object"},
	"P05 an array":                   {`[]`, " must be a JSON object"},
	"P05 a string":                   {`"x"`, " must be a JSON object"},
	"P05 nothing":                    {``, " not a JSON value at byte 0"},
	"P05 blanks":                     {"  ", " not a JSON value at byte 2"},
	"P05 a name twice":               {`{"c_text":"a","c_text":"b"}`, " a name occurs twice at byte 22"},
	"P05 a name twice, escaped":      {`{"c_text":"a","c_t\u0065xt":"b"}`, " a name occurs twice at byte 27"},
	"P05 an operator twice":          {`{"c_text":{"$gt":"a","$gt":"b"}}`, " a name occurs twice at byte 26"},
	"P05 trailing data":              {`{"c_text":"a"} x`, " something follows the value at byte 15"},
	"P05 two values":                 {`{}{}`, " something follows the value at byte 2"},
	"P05 NaN":                        {`{"c_likes":NaN}`, " not a JSON value at byte 11"},
	"P05 Infinity":                   {`{"c_likes":-Infinity}`, " not a JSON number at byte 12"},
	"P05 bad UTF-8":                  {"{\"c_text\":\"\xff\"}", " not UTF-8"},
	"P05 a lone surrogate":           {`{"c_text":"\ud800"}`, " half of a surrogate pair at byte 17"},
	"P05 surrogates reversed":        {`{"c_text":"\udc00\ud800"}`, " half of a surrogate pair at byte 23"},
	"P05 NUL":                        {`{"c_text":"a\u0000b"}`, " NUL in a string at byte 18"},
	"P05 a control character":        {"{\"c_text\":\"a\nb\"}", " a control character in a string at byte 12"},
	"P05 a bad escape":               {`{"c_text":"\x41"}`, " a bad escape at byte 12"},
	"P05 $and of nothing":            {`{"$and":[]}`, "/$and must be an array of at least one object"},
	"P05 $or of nothing":             {`{"$or":[]}`, "/$or must be an array of at least one object"},
	"P05 $nor of an object":          {`{"$nor":{}}`, "/$nor must be an array of at least one object"},
	"P05 $and of a value":            {`{"$and":[{},1]}`, "/$and/1 must be an object"},
	"P05 no operator":                {`{"c_text":{}}`, "/c_text an operator is missing"},
	"P05 no colon":                   {`{"c_text" "a"}`, " a colon is missing at byte 10"},
	"P05 no comma in an array":       {`{"c_likes":{"$in":[1 2]}}`, " a comma is missing at byte 21"},
	"P05 half a word":                {`{"c_pinned":tru}`, " not a JSON value at byte 12"},
	"P05 an endless string":          {`{"c_text":"a`, " a string does not end at byte 12"},
	"P05 one after an escape":        {`{"c_text":"\na`, " a string does not end at byte 14"},
	"P05 one ending in escape":       {`{"c_text":"\`, " a bad escape at byte 12"},
	"P05 a short \\u":                {`{"c_text":"\u12`, " a bad escape at byte 13"},
	"P05 no digits after \\u":        {`{"c_text":"\u12x4"}`, " a bad escape at byte 13"},
	"P05 half a pair":                {`{"c_text":"\ud83d\n"}`, " half of a surrogate pair at byte 17"},
	"P05 half a pair and less":       {`{"c_text":"\ud83d\u12`, " a bad escape at byte 19"},
	"P05 a tab after a \\t":          {"{\"c_text\":\"\\t\t\"}", " a control character in a string at byte 13"},
	"P05 a trailing comma":           {`{"c_text":"a",}`, " a name is missing at byte 14"},
	"P05 a comment":                  {`{"c_text":"a"/**/}`, " a comma is missing at byte 13"},
	"P05 single quotes":              {`{'c_text':'a'}`, " a name is missing at byte 1"},
	"P05 a leading zero":             {`{"c_likes":01}`, " not a JSON number at byte 13"},
	"P05 a plus":                     {`{"c_likes":+1}`, " not a JSON value at byte 11"},
	"P05 a bare point":               {`{"c_likes":1.}`, " not a JSON number at byte 13"},
	"P05 a bare minus":               {`{"c_likes":-}`, " not a JSON number at byte 12"},
	"P05 hexadecimal":                {`{"c_likes":0x10}`, " a comma is missing at byte 12"},
	"P05 an exponent of two signs":   {`{"c_likes":1e+-5}`, " not a JSON number at byte 14"},
	"P05 an exponent without digits": {`{"c_likes":1e}`, " not a JSON number at byte 13"},
	"an exponent without end":        {`{"c_likes":1e999999999}`, " a number out of range at byte 22"},
	"digits without end":             {`{"c_likes":` + strings.Repeat("9", 65) + `}`, " a number out of range at byte 76"},

	"P06 $where":                    {`{"$where":"sleep(1000)"}`, "/$where unknown operator"},
	"P06 $function":                 {`{"c_text":{"$function":{}}}`, "/c_text/$function unknown operator"},
	"P06 $expr":                     {`{"$expr":{"$gt":["$a","$b"]}}`, "/$expr unknown operator"},
	"P06 $lookup":                   {`{"$lookup":{}}`, "/$lookup unknown operator"},
	"P06 $regex":                    {`{"c_text":{"$regex":"(a+)+$"}}`, "/c_text/$regex unknown operator"},
	"P06 $text":                     {`{"$text":{"$search":"x"}}`, "/$text unknown operator"},
	"P06 $prefix beside properties": {`{"$prefix":"a"}`, "/$prefix unknown operator"},
	"P06 $GT":                       {`{"c_likes":{"$GT":1}}`, "/c_likes/$GT unknown operator"},
	"P06 $not beside properties":    {`{"$not":{"c_text":"a"}}`, "/$not $not belongs below a property; $nor can stand here"},
	"P06 $not of a value":           {`{"c_text":{"$not":"a"}}`, "/c_text/$not must be an object of operators"},
	"P06 $and below a property":     {`{"c_text":{"$and":[{}]}}`, "/c_text/$and unknown operator"},
	"a property below a property":   {`{"c_meta.lang":{"x":1}}`, "/c_meta.lang/x unknown operator"},

	"P08 an operator for a value": {`{"_id":{"$gt":{"$ne":1}}}`, "/_id/$gt must be a string, number, boolean or null"},
	"P08 an operator in $in":      {`{"_id":{"$in":["a",{"$ne":1}]}}`, "/_id/$in/1 must be a string, number, boolean or null"},
	"P08 a number for a string":   {`{"c_text":5}`, "/c_text must be of type string"},
	"P08 a string for a number":   {`{"c_likes":"5"}`, "/c_likes must be of type integer"},
	"P08 a string for a boolean":  {`{"c_pinned":"true"}`, "/c_pinned must be of type boolean"},
	"P08 a number for a boolean":  {`{"c_pinned":1}`, "/c_pinned must be of type boolean"},
	"P08 a boolean for a string":  {`{"c_text":true}`, "/c_text must be of type string"},
	"P08 an array for a string":   {`{"c_text":["a"]}`, "/c_text must be a string, number, boolean or null"},
	"P08 a number for a date":     {`{"c_sent":1700000000000}`, "/c_sent must be a date like 2026-01-02T03:04:05.000Z"},
	"P08 a text that is no date":  {`{"c_sent":"yesterday"}`, "/c_sent must be a date like 2026-01-02T03:04:05.000Z"},
	"P08 a day":                   {`{"c_sent":"2026-01-02"}`, "/c_sent must be a date like 2026-01-02T03:04:05.000Z"},
	"P08 a date too fine":         {`{"c_sent":"2026-01-02T03:04:05.0001Z"}`, "/c_sent must be a date like 2026-01-02T03:04:05.000Z"},
	"P08 a date beyond year 9999": {`{"c_sent":"9999-12-31T23:59:59-01:00"}`, "/c_sent must be a date like 2026-01-02T03:04:05.000Z"},
	"P08 a date before year 0":    {`{"c_sent":"0000-01-01T00:00:00+01:00"}`, "/c_sent must be a date like 2026-01-02T03:04:05.000Z"},
	"P08 a prefix of a number":    {`{"c_likes":{"$prefix":"5"}}`, "/c_likes/$prefix only a string has a prefix"},
	"P08 a prefix of a date":      {`{"c_sent":{"$prefix":"2026-01"}}`, "/c_sent/$prefix only a string has a prefix"},
	"P08 a number for a prefix":   {`{"c_text":{"$prefix":5}}`, "/c_text/$prefix must be of type string"},
	"P08 null for a prefix":       {`{"c_text":{"$prefix":null}}`, "/c_text/$prefix must be of type string"},
	"P08 an object for a prefix":  {`{"c_text":{"$prefix":{"$ne":""}}}`, "/c_text/$prefix must be of type string"},
	"P08 an array of prefixes":    {`{"c_text":{"$prefix":["a"]}}`, "/c_text/$prefix must be of type string"},
	"null for what is never null": {`{"c_text":null}`, "/c_text is never null"},
	"null in $in of such":         {`{"c_text":{"$in":["a",null]}}`, "/c_text/$in/1 is never null"},
	"greater than null":           {`{"c_likes":{"$gt":null}}`, "/c_likes/$gt null is neither greater nor less than anything"},
	"$in of a value":              {`{"c_likes":{"$in":1}}`, "/c_likes/$in must be an array"},
	"$exists of a number":         {`{"c_likes":{"$exists":1}}`, "/c_likes/$exists must be true or false"},
	"what cannot be filtered by":  {`{"c_tags[]":"a"}`, "/c_tags[] cannot be filtered by"},
	"what has no type":            {`{"c_blob":"a"}`, "/c_blob cannot be filtered by"},
	"a list":                      {`{"connections":null}`, "/connections cannot be filtered by"},
	"pointers escape":             {`{"a/b~c":1}`, "/a~1b~0c unknown property"},
	"a pointer into the middle":   {`{"c_text":"a","$or":[{"c_likes":1},{"c_likes":{"$in":[1,2,"x"]}}]}`, "/$or/1/c_likes/$in/2 must be of type integer"},
}

// repeated returns n copies of an item, separated by commas.
func repeated(n int, item string) string {
	return strings.TrimSuffix(strings.Repeat(item+",", n), ",")
}

func TestWhereRefuses(t *testing.T) {
	for name, tc := range refusedFilters {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff([]string{"where " + tc.want}, refused(t, where(tc.where))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhereUpToItsBounds(t *testing.T) {
	tests := map[string]string{
		"depth 16":       strings.Repeat(`{"$and":[`, 7) + `{"c_likes":{"$gt":1}}` + strings.Repeat(`]}`, 7),
		"256 conditions": `{"$or":[` + repeated(255, `{"c_likes":{"$exists":true}}`) + `]}`,
		"200 values":     `{"c_likes":{"$in":[` + repeated(200, "1") + `]}}`,
		"8 KiB":          `{"c_text":"` + strings.Repeat("x", 8<<10-13) + `"}`,
	}
	for name, text := range tests {
		t.Run("P04 "+name, func(t *testing.T) { accepted(t, where(text)) })
	}
}

func TestWhereReadsByType(t *testing.T) {
	tests := map[string]string{
		`{"c_likes":9007199254740993}`:                          `{"c_likes":9007199254740993}`,
		`{"c_likes":{"$gt":2.5}}`:                               `{"c_likes":{"$gt":2.5}}`,
		`{"c_likes":null}`:                                      `{"c_likes":null}`,
		`{"c_pinned":{"$ne":true}}`:                             `{"c_pinned":{"$ne":true}}`,
		`{"c_sent":{"$gte":"2026-01-02T03:04:05Z"}}`:            `{"c_sent":{"$gte":"2026-01-02T03:04:05.000Z"}}`,
		`{"c_sent":{"$lt":"2026-01-02T03:04:05.6+02:00"}}`:      `{"c_sent":{"$lt":"2026-01-02T01:04:05.600Z"}}`,
		`{"c_sent":{"$in":["2026-01-02T03:04:05.123000000Z"]}}`: `{"c_sent":{"$in":["2026-01-02T03:04:05.123Z"]}}`,
		`{"_id":{"$gt":"5f"},"object":"c_message"}`:             `{"$and":[{"_id":{"$gt":"5f"}},{"object":"c_message"}]}`,
		`{"c_text":{"$exists":true}}`:                           `{"c_text":{"$exists":true}}`,
	}
	for text, want := range tests {
		if diff := cmp.Diff(want, accepted(t, where(text)).Where.String()); diff != "" {
			t.Errorf("P08 %s:\n%s", text, diff)
		}
	}
}

func TestWhereReportsInOneGo(t *testing.T) {
	got := refused(t, where(`{"c_secret":1,"$or":[{"c_likes":"a"},{"$x":1},{"c_text":{"$regex":"."}}],"c_sent":{"$gt":"b","$lt":1}}`))
	want := []string{
		"where /c_secret unknown property",
		"where /$or/0/c_likes must be of type integer",
		"where /$or/1/$x unknown operator",
		"where /$or/2/c_text/$regex unknown operator",
		"where /c_sent/$gt must be a date like 2026-01-02T03:04:05.000Z",
		"where /c_sent/$lt must be a date like 2026-01-02T03:04:05.000Z",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestElementsHaveNoPrefix(t *testing.T) {
	for _, path := range []string{"c_tags[]", "c_set[]#c_foo.c_text"} {
		if f, err := paging.ParseFilter(`{"` + path + `":{"$prefix":"a"}}`); err == nil {
			t.Errorf("%s became %s", path, f)
		}
	}
}

func TestParseFilterError(t *testing.T) {
	f, err := paging.ParseFilter(`{"a":{"$x":1}}`)
	if got := fmt.Sprint(f, err); got != "{} paging: where /a/$x: unknown operator" {
		t.Error(got)
	}
}

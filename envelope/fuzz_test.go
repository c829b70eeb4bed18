package envelope_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/envelope"
)

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"object":"list","data":[{"_id":"1"}],"hasMore":"true"}`,
		`{"object":"fault","errCode":"service.a.b","status":403,"faults":[{"object":"fault"}]}`,
		`{"data":[],"object":"fault","object":"list"}`, `{"OBJECT":"fault"}`, `{"object":"list","data":[1e999]}`, `[]`, `<html>`, `{"object":"list"`, ``,
	} {
		f.Add([]byte(seed), int64(len(seed)))
	}
	f.Fuzz(func(t *testing.T, body []byte, limit int64) {
		var list envelope.List[json.RawMessage]
		err := envelope.Decode(bytes.NewReader(body), limit, &list)
		other := envelope.Decode(bytes.NewReader(body), limit, new(json.RawMessage)) // decoded into any, a number may be too large

		_, fault := errors.AsType[*envelope.Fault](err)
		if _, also := errors.AsType[*envelope.Fault](other); fault != also {
			t.Fatalf("a fault for one target only: %v, %v", err, other)
		}
		if err != nil {
			if list.Data != nil || list.HasMore {
				t.Fatalf("%v, and %v", err, list)
			}
			return
		}
		if other != nil || int64(len(body)) > limit {
			t.Fatalf("accepted what is not JSON or too large: %v", other)
		}
		again, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		var back envelope.List[json.RawMessage]
		if err := envelope.Decode(bytes.NewReader(again), int64(len(again)), &back); err != nil {
			t.Fatal(err)
		}
		if back.HasMore != list.HasMore || len(back.Data) != len(list.Data) {
			t.Fatalf("%s became %s", body, again)
		}
	})
}

func FuzzFault(f *testing.F) {
	f.Add("service", "accessDenied.scope", "kAccessDenied", 403, "Missing.", "object.read", "where")
	f.Add("", "", "", 0, "\n", "\x1b", "\u202e")
	f.Fuzz(func(t *testing.T, namespace, detail, code string, status int, message, reason, path string) {
		fault := &envelope.Fault{Detail: detail, Code: code, Status: status, Message: message, Reason: reason, Path: path}
		fault.Faults = []*envelope.Fault{{Detail: detail, Path: path, Reason: reason}}
		if text := fault.Error(); strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("not printable: %q", text)
		}
		body := fault.Encode(namespace)
		if !json.Valid(body) {
			t.Fatalf("not JSON: %s", body)
		}
		if strings.Contains(namespace, ".") || !utf8.ValidString(strings.Join([]string{detail, code, message, reason, path}, "/")) {
			return
		}
		var back *envelope.Fault
		if err := envelope.Decode(bytes.NewReader(body), int64(len(body)), new(note)); !errors.As(err, &back) {
			t.Fatal(err)
		}
		if diff := cmp.Diff(fault, back); diff != "" {
			t.Error(diff)
		}
	})
}

func FuzzSelect(f *testing.F) {
	f.Add(`{"_id":"1","object":"c_a","name":{"first":"A","last":{}},"n":1e400}`, "name.first")
	f.Add(`{"s":[1,[2,{"object":"c_t","x":[]}]],"s":{"a.b":1,"":2}}`, "s[]#c_t")
	f.Add(`{"l":{"object":"list","data":[{"_id":"1","a":1},{"b":{"_id":2}},3],"hasMore":true}}`, "l.a")
	f.Add(`{"object":"list","data":[{"_id":"1","a":{"_id":"2","b":3}}],"hasMore":false}`, "a.b")
	f.Add(`{"s":[{"object":{"a":1},"object":"c_t","x":1}]}`, "s[].x")
	f.Fuzz(func(t *testing.T, in, path string) {
		all, err := envelope.Select(json.RawMessage(in), func(string) bool { return true })
		if err != nil {
			return
		}
		some, err := envelope.Select(json.RawMessage(in), below(path))
		if err != nil || !json.Valid(some) {
			t.Fatalf("%s: %s, %v", in, some, err)
		}
		if len(some) > len(all) {
			t.Fatalf("%s grew to %s", in, some)
		}
		var refused []string
		again, err := envelope.Select(some, func(p string) bool {
			kept := below(path)(p)
			if !kept {
				refused = append(refused, p)
			}
			return kept
		})
		if err != nil || string(again) != string(some) {
			t.Fatalf("%s, then %s, %v", some, again, err)
		}
		// What is left was kept, or says which object it is.
		for _, p := range refused {
			name := p[strings.LastIndexByte(p, '.')+1:]
			if name != "_id" && name != "object" && !strings.Contains(in, `"list"`) {
				t.Fatalf("%s is left in %s", p, some)
			}
		}
	})
}

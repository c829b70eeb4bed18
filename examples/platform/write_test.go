package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWritesByProperty: a PATCH needs the update chain of each property that its
// body names. A refused PATCH writes nothing. No schema here has an array.
// auth.TestMayWrite tests their paths.
func TestWritesByProperty(t *testing.T) {
	t.Parallel()
	s := startScoped(t)
	const of = "object.update.c_message.*."
	one, two := "/c_messages/"+message1, "/c_messages/"+message2
	need := "object.update.c_message." + message1
	child := func(paths ...string) map[string]string {
		reasons := map[string]string{}
		for _, path := range paths {
			reasons[path] = need + "." + path
		}
		return reasons
	}
	admin := demoID(acme, "account", 1)
	for _, test := range []struct {
		name, path, body string
		chains           []string
		status           int
		detail           string
		faults           map[string]string // reason by path
	}{
		{"a property that a chain names", one, `{"c_text":"b"}`, []string{of + "c_text"}, 200, "", nil},
		{"null takes it away", one, `{"c_text":null}`, []string{of + "c_text"}, 200, "", nil},
		{"several, each by its own chain", one, `{"c_text":"b","c_likes":1}`, []string{of + "c_likes", of + "c_text"}, 200, "", nil},
		{"any property by a chain on the object", one, `{"c_text":"b","c_likes":1}`, []string{need}, 200, "", nil},
		{"by a chain on all verbs", one, `{"c_text":"b"}`, []string{"object.*.*.*.c_text"}, 200, "", nil},
		{"C14 named and not named ones", one, `{"c_text":"b","c_likes":1,"c_pinned":true}`, []string{of + "c_text"},
			403, "accessDenied.scope", child("c_likes", "c_pinned")},
		{"C14 null needs the chain, too", one, `{"c_text":"b","c_likes":null}`, []string{of + "c_text"}, 403, "accessDenied.scope", child("c_likes")},
		{"C14 the author", one, `{"c_author":"` + admin + `"}`, []string{of + "c_text"}, 403, "accessDenied.scope", child("c_author")},
		{"C14 a name that begins alike", one, `{"c_text":"b"}`, []string{of + "c_tex", of + "c_text2"}, 403, "accessDenied.scope", child("c_text")},
		{"C14 a chain on reading", one, `{"c_text":"b"}`, []string{"object.read", "object.create"}, 403, "accessDenied.scope", nil},
		{"C14 a chain on the type of another object", one, `{"c_text":"b"}`, []string{"object.update.c_conversation.*.c_text"}, 403, "accessDenied.scope", nil},

		{"below another", one, `{"c_meta":{"lang":"fr"}}`, []string{of + "c_meta.lang"}, 200, "", nil},
		{"below what a chain names", one, `{"c_meta":{"lang":"fr"}}`, []string{of + "c_meta"}, 200, "", nil},
		{"null below another", one, `{"c_meta":{"lang":null}}`, []string{of + "c_meta.lang"}, 200, "", nil},
		{"the whole of it", one, `{"c_meta":null}`, []string{of + "c_meta"}, 200, "", nil},
		{"C14 the whole, by a chain on a part", one, `{"c_meta":null}`, []string{of + "c_meta.lang"}, 403, "accessDenied.scope", child("c_meta")},
		{"C14 the whole, empty, by a chain on a part", one, `{"c_meta":{}}`, []string{of + "c_meta.lang"}, 403, "accessDenied.scope", child("c_meta")},
		{"C14 a part, by a chain below it", one, `{"c_meta":{"lang":"fr"}}`, []string{of + "c_meta.lang.x"}, 403, "accessDenied.scope", child("c_meta.lang")},

		{"a single object", one, `{"c_text":"b"}`, []string{need + ".c_text"}, 200, "", nil},
		{"C14 another object", two, `{"c_text":"b"}`, []string{need + ".c_text"}, 403, "accessDenied.scope", nil},
		{"C14 each object by its own chains", one, `{"c_text":"b","c_likes":1}`,
			[]string{need + ".c_text", "object.update.c_message." + message2 + ".c_likes"}, 403, "accessDenied.scope", child("c_likes")},
		{"C14 a chain on a #type", one, `{"c_text":"b"}`, []string{"object.update.c_message#t.*.c_text", "object.update.c_message#t"}, 403, "accessDenied.scope", nil},
		{"C14 a chain on a #type, an object that is not there", "/c_messages/" + nobody, `{}`, []string{"object.update.c_message#t"}, 403, "accessDenied.scope", nil},
		{"C14 a chain on a #type of the property", one, `{"c_text":"b"}`, []string{of + "c_text#t"}, 403, "accessDenied.scope", child("c_text")},
		{"C14 an array of the name", one, `{"c_text":"b"}`, []string{of + "c_text[]"}, 403, "accessDenied.scope", child("c_text")},

		{"nothing", one, `{}`, []string{of + "c_text"}, 200, "", nil},
		{"C14 nothing, without a chain on the object", two, `{}`, []string{need + ".c_text"}, 403, "accessDenied.scope", nil},
		{"an object that is not there", "/c_messages/" + nobody, `{"c_text":"b"}`, []string{of + "c_text"}, 404, "notFound.unspecified", nil},
		{"an object of another org", "/c_messages/" + demoID(globex, "c_message", 1), `{"c_text":"b"}`, []string{of + "c_text"}, 404, "notFound.unspecified", nil},

		{"C14 given twice, once covered", one, `{"c_text":"b","c_text":"c"}`, []string{of + "c_text"},
			400, "invalidArgument.body", map[string]string{"c_text": "given more than once"}},
		{"C14 what the server gives", one, `{"_id":"x","object":"y"}`, []string{of + "c_text", of + "_id", of + "object"},
			400, "invalidArgument.body", map[string]string{"_id": "unknown field", "object": "unknown field"}},
		{"C14 another spelling", one, `{"C_TEXT":"b"}`, []string{of + "c_text"}, 400, "invalidArgument.body", map[string]string{"C_TEXT": "unknown field"}},
		{"C14 a path for a name", one, `{"c_meta.lang":"fr"}`, []string{of + "c_meta.lang"}, 400, "invalidArgument.body", map[string]string{"c_meta.lang": "unknown field"}},
		{"C14 a list", "/c_conversations/" + conversation3, `{"c_messages":[]}`, []string{"object.update.c_conversation.*.c_messages"},
			400, "invalidArgument.body", map[string]string{"c_messages": "cannot be written"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			everything := func() string { return s.get(t, one, "*").text + s.get(t, two, "*").text }
			before := everything()
			got := s.call(t, "PATCH", test.path, test.body, test.chains...)
			if test.status == 200 {
				got.ok(t)
				return
			}
			fault := s.refused(t, got, test.status, test.detail)
			if diff := cmp.Diff(test.faults, children(fault)); len(test.faults)+len(children(fault)) > 0 && diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
			if test.faults != nil && test.status == 403 && fault["reason"] != need {
				t.Errorf("reason %v", fault["reason"])
			}
			if after := everything(); after != before {
				t.Errorf("before: %s\nafter: %s", before, after)
			}
		})
	}
}

// A hidden property gets the same answer as an unknown one, whatever the scope.
func TestWritingWhatIsHidden(t *testing.T) {
	t.Parallel()
	s := startScoped(t)
	for _, c := range []struct{ method, path, verb string }{
		{"PATCH", "/c_messages/" + message1, "update"},
		{"POST", "/c_messages", "create"},
	} {
		of := "object." + c.verb + ".c_message"
		for name, chains := range map[string][]string{
			"everything":                {"*"},
			"C14 another property":      {of + ".*.c_text"},
			"C14 this property":         {of + ".*.c_secret", of + ".*.c_unknown"},
			"C14 no chain on the verb":  {"object.read"},
			"C14 a chain on one object": {of + "." + message1 + ".c_text"},
		} {
			for _, body := range []string{`{"%s":"x"}`, `{"%s":null}`, `{"c_text":"x","%s":{}}`} {
				var answers [2]string
				for i, property := range []string{"c_secret", "c_unknown"} {
					got := s.call(t, c.method, c.path, fmt.Sprintf(body, property), chains...)
					if got.status < 400 {
						t.Errorf("%s %s by %s: %d", c.method, body, name, got.status)
					}
					answers[i] = strings.ReplaceAll(got.text, property, "?")
				}
				if diff := cmp.Diff(answers[1], answers[0]); diff != "" {
					t.Errorf("%s %s by %s (-unknown +hidden):\n%s", c.method, body, name, diff)
				}
			}
		}
	}
}

func TestUnset(t *testing.T) {
	t.Parallel()
	s := startScoped(t)
	one := "/c_messages/" + message2
	got := s.call(t, "PATCH", one, `{"c_text":null,"c_likes":null,"c_pinned":null,"c_meta":{"lang":null}}`, "*").ok(t)
	want := value{"_id": message2, "object": "c_message", "c_author": got["c_author"], "c_sent": got["c_sent"]}
	for name, got := range map[string]value{"PATCH": got, "GET": s.get(t, one, "*").ok(t)} {
		if diff := cmp.Diff(want, got); diff != "" || got["c_author"] == nil || got["c_sent"] == nil {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	got = s.call(t, "PATCH", one, `{"c_meta":{"lang":"nl"},"c_likes":0}`, "*").ok(t)
	want["c_meta"], want["c_likes"] = value{"lang": "nl"}, 0.0
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("set again (-want +got):\n%s", diff)
	}
	got = s.call(t, "PATCH", one, `{"c_meta":null}`, "*").ok(t)
	if delete(want, "c_meta"); cmp.Diff(want, got) != "" {
		t.Errorf("c_meta whole: %v", got)
	}
	t.Run("what is taken away is found as what was never there", func(t *testing.T) {
		found := items(t, s.get(t, `/c_messages?where={"_id":"`+message2+`","c_text":{"$exists":false},"c_meta.lang":null}`, "*").ok(t), false)
		if len(found) != 1 {
			t.Errorf("%v", found)
		}
	})
	t.Run("twice is as once", func(t *testing.T) {
		s.call(t, "PATCH", one, `{"c_text":null}`, "*").ok(t)
	})
}

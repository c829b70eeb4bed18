package main

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNames(t *testing.T) {
	t.Parallel()
	s := start(t)
	register := func(email, name string) answer {
		return s.do(t, call{method: "POST", path: "/accounts", unsigned: true,
			body: asJSON(value{"email": email, "name": name, "password": "correct horse"})})
	}
	for i, name := range []string{"", "Ann", "Åsa Öberg", "أحمد", "עדה", "李小龍", "क्षि", "👩‍👩‍👧", "a\u200bb", "O'Neil-Smith"} {
		register(strconv.Itoa(i)+"@example.com", name).ok(t)
	}
	for _, name := range []string{
		"a\nb", "a\tb", "\x1b[31m", "a\x7f", "a\u0085b", "a\u2028b", "\u202aa", "a\u202eb", "a\u202cb", "a\u2066b", "a\u2069b",
		" ", "\u200b", "\u200b\u200d\ufeff", "\u2060", "\u00ad", "\u3164", "\u034f", "\u00a0",
	} {
		fault := s.refused(t, register("x@example.com", name), 400, "invalidArgument.body")
		if _, told := children(fault)["name"]; !told {
			t.Errorf("%q: %v", name, fault)
		}
		if name == "" {
			continue
		}
		got := s.do(t, call{method: "POST", path: "/apps", body: asJSON(value{"name": name})})
		if _, told := children(s.refused(t, got, 400, "invalidArgument.body"))["name"]; !told {
			t.Errorf("an app %q: %s", name, got.text)
		}
	}
	for _, email := range []string{"a\n@example.com", "a@example.com\nBcc:b", "a\u202e@example.com", "a@\u2066example.com", "a\u200b@example.com", "a\x00@b"} {
		fault := s.refused(t, register(email, "Ann"), 400, "invalidArgument.body")
		if got := children(fault); !cmp.Equal(len(got), 1) || got["email"] == "" {
			t.Errorf("%q: %v", email, fault)
		}
	}
}

package main

import (
	"fmt"
	"testing"
)

// seeded returns the demo messages as they were made, without the server.
func seeded(messages int) []*object {
	return demoObjects(acme, messages, 0, 0, ada, mia, theo)
}

func idsOf(objects []*object) (ids []string) {
	for _, o := range objects {
		ids = append(ids, o.ID)
	}
	return ids
}

// TestListsOfThePlatform checks that lists without objects take the same arguments.
func TestListsOfThePlatform(t *testing.T) {
	t.Parallel()
	s := start(t)
	for range 3 {
		s.mint(t, "", wish(s.AccountID, `,"permanent":true`))
	}
	for _, path := range []string{"/apps", "/schemas", s.subjectPath(s.AccountID)} {
		var ids []any
		for _, item := range s.do(t, call{path: path + "?sort=_id"}).ok(t)["data"].([]any) {
			ids = append(ids, item.(value)["_id"])
		}
		last := ids[len(ids)-1]
		reversed := s.do(t, call{path: path + "?limit=1&sort={%22_id%22:-1}"}).ok(t)
		if got := items(t, reversed, len(ids) > 1); got[0].(value)["_id"] != last {
			t.Errorf("%s: %v, want %v", path, got, last)
		}
		found := s.do(t, call{path: fmt.Sprintf("%s?where={%%22_id%%22:{%%22$gte%%22:%%22%s%%22}}", path, last)}).ok(t)
		if got := items(t, found, false); len(got) != 1 {
			t.Errorf("%s: %v", path, got)
		}
		s.refused(t, s.do(t, call{path: path + "?where={%22name%22:1}"}), 400, "invalidArgument.query")
	}
}

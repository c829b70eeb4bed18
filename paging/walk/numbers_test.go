package walk_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/walk"
)

// A server may order ids that are integers as numbers or as texts, but a walk never goes in circles.
func TestIDsThatAreNumbers(t *testing.T) {
	for pages, ok := range map[string]bool{
		"1 2|9 10|11": true, "1 10|11 2": true, "-5 1|2 10": true, "1 10|2 11": true, "9|10|9|10|9": false, "10|9|10|9|10": false, "9|10|a": false, "9|9": false, "a|9": false,
	} {
		for _, sort := range [][]paging.Key{nil, {{Path: "title"}}} {
			all, at := strings.Split(pages, "|"), 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var items []map[string]string
				for id := range strings.FieldsSeq(all[at]) {
					items = append(items, map[string]string{"_id": id, "object": "note", "title": "same"})
				}
				at++
				body, err := envelope.Encode(envelope.List[map[string]string]{Data: items, HasMore: at < len(all)})
				if err != nil {
					t.Error(err)
				}
				w.Write(body)
			}))
			var err error
			met := 0
			for _, err = range (walk.List[envelope.Item]{URL: server.URL, Query: paging.Query{Sort: sort}}).All(t.Context()) {
				met++
			}
			server.Close()
			if ok != (err == nil) || err != nil && !errors.Is(err, walk.ErrStalled) || met > 6 {
				t.Error(pages, sort, met, err)
			}
			if ok && fmt.Sprint(met) != fmt.Sprint(len(strings.FieldsFunc(pages, func(r rune) bool { return r == ' ' || r == '|' }))) {
				t.Error(pages, "met", met)
			}
		}
	}
}

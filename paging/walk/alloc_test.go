package walk_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/walk"
)

// TestAnItemCostsOnlyItsDecoding compares a walk over one page with the decoding of the page.
func TestAnItemCostsOnlyItsDecoding(t *testing.T) {
	const items = 1000
	data := make([]string, items)
	for i := range data {
		data[i] = fmt.Sprintf(`{"_id":"5b%06d","object":"c_note"}`, i)
	}
	page := `{"object":"list","hasMore":false,"data":[` + strings.Join(data, ",") + `]}`
	decoding := testing.AllocsPerRun(5, func() {
		var list envelope.List[envelope.Item]
		if err := envelope.Decode(strings.NewReader(page), 1<<20, &list); err != nil {
			t.Fatal(err)
		}
	})
	walking := testing.AllocsPerRun(5, func() {
		list := walk.List[envelope.Item]{URL: listURL, Client: bodies(page).client()}
		for _, err := range list.All(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
		}
	})
	if walking-decoding > items/2 {
		t.Errorf("a walk over %d items allocates %v times, and decoding them %v times", items, walking, decoding)
	}
}

func TestSortKeyThatIsAnObject(t *testing.T) {
	for _, rank := range []string{"{}", `{"a":1}`, "[]", "[1]"} {
		list := walk.List[envelope.Item]{URL: listURL, Client: bodies(ranked("1:" + rank)).client(), Query: paging.Query{Sort: []paging.Key{{Path: "rank"}}}}
		if _, err := collect(list.All(t.Context())); err == nil || !strings.Contains(err.Error(), "rank: an object or array is in no order") {
			t.Errorf("%s: %v", rank, err)
		}
	}
}

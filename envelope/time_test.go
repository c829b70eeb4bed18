package envelope_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
)

func ExampleTime() {
	sent := time.Date(2026, 1, 2, 4, 4, 41, 90_000_000, time.FixedZone("", 3600))
	text, err := json.Marshal(struct {
		Sent, Plain any
	}{envelope.Time{Time: sent}, sent})
	fmt.Println(string(text), err)
	// Output:
	// {"Sent":"2026-01-02T03:04:41.090Z","Plain":"2026-01-02T04:04:41.09+01:00"} <nil>
}

func TestTimesAreInTheOrderOfTheirTexts(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var texts []string
	for _, ms := range []int{0, 1, 9, 10, 90, 99, 100, 500, 999} {
		text, err := json.Marshal(envelope.Time{Time: at.Add(time.Duration(ms) * time.Millisecond)})
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
		var back envelope.Time
		if err := json.Unmarshal(text, &back); err != nil || !back.Equal(at.Add(time.Duration(ms)*time.Millisecond)) {
			t.Error(back, err)
		}
		if want := at.Add(time.Duration(ms) * time.Millisecond).Format(`"` + paging.DateLayout + `"`); string(text) != want {
			t.Errorf("%s, want %s", text, want)
		}
	}
	if !slices.IsSorted(texts) {
		t.Error(texts)
	}
	if text, err := json.Marshal(envelope.Time{Time: time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)}); err == nil {
		t.Errorf("%s", text)
	}
}

package token_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/tenantkit/tenantkit/token"
)

// pagedLedger has a number of pages of two records, and then fails if it has an error.
type pagedLedger struct {
	token.Ledger
	pages, calls int
	err          error
}

func (p *pagedLedger) List(_ context.Context, of token.Holder, after token.Position, limit int) ([]token.Record, token.Position, error) {
	if want := p.calls; limit != token.MaxPage || want == 0 != after.IsZero() || want > 0 && after.ID != fmt.Sprint(want) {
		return nil, token.Position{}, fmt.Errorf("page %d begins after %+v, with the limit %d", want, after, limit)
	}
	p.calls++
	if p.calls == p.pages && p.err != nil {
		return nil, token.Position{}, p.err
	}
	next := token.Position{Issued: someTime, ID: fmt.Sprint(p.calls)}
	if p.calls == p.pages {
		next = token.Position{}
	}
	if p.calls == 2 { // all of them are dead
		return nil, next, nil
	}
	return []token.Record{aRecord(fmt.Sprint(p.calls, "a")), aRecord(fmt.Sprint(p.calls, "b"))}, next, nil
}

func TestRecords(t *testing.T) {
	down := errors.New("down")
	for _, c := range []struct {
		name          string
		ledger        pagedLedger
		stop          int
		records, call int
		want          error
	}{
		{"one page", pagedLedger{pages: 1}, 100, 2, 1, nil},
		{"all pages, one of them without a live record", pagedLedger{pages: 4}, 100, 6, 4, nil},
		{"until the loop ends", pagedLedger{pages: 4}, 3, 3, 3, nil},
		{"until an error", pagedLedger{pages: 3, err: down}, 100, 2, 3, down},
		{"an error at once", pagedLedger{pages: 1, err: down}, 100, 0, 1, down},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, last := 0, error(nil)
			for r, err := range token.Records(t.Context(), &c.ledger, heldBy(appA, token.Any)) {
				if last != nil {
					t.Error("something comes after the error")
				}
				if last = err; err != nil {
					if r != (token.Record{}) {
						t.Errorf("%+v beside an error", r)
					}
					continue
				}
				if n++; n == c.stop {
					break
				}
			}
			if n != c.records || c.ledger.calls != c.call || !errors.Is(last, c.want) {
				t.Errorf("%d records by %d calls, %v; want %d by %d, %v", n, c.ledger.calls, last, c.records, c.call, c.want)
			}
		})
	}
}

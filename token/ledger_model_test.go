package token_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/token"
)

// plainLedger is the simplest implementation of a Ledger. Each Issue looks at every
// record.
type plainLedger struct {
	now     func() time.Time
	records []*token.Record // in the order of issue
}

func (p *plainLedger) find(clientKey, id string) *token.Record {
	for _, r := range p.records {
		if r.ClientKey == clientKey && r.ID == id {
			return r
		}
	}
	return nil
}

// ancestors returns how many ancestors a live record has, and false for a dead record.
func (p *plainLedger) ancestors(r *token.Record) (n int, live bool) {
	for r != nil {
		if !r.Expires.IsZero() && !p.now().Before(r.Expires) || r.MaxUses > 0 && r.Uses >= r.MaxUses {
			return 0, false
		}
		if r.Parent == "" {
			return n, true
		}
		r = p.find(r.ClientKey, r.Parent)
		n++
	}
	return 0, false
}

func (p *plainLedger) isLive(r *token.Record) bool {
	_, live := p.ancestors(r)
	return live
}

// sweep drops the dead records. It looks at all of them before it drops one.
func (p *plainLedger) sweep() {
	var live []*token.Record
	for _, r := range p.records {
		if p.isLive(r) {
			live = append(live, r)
		}
	}
	p.records = live
}

func (p *plainLedger) of(clientKey, subject string) (of []*token.Record) {
	for _, r := range p.records {
		if r.ClientKey == clientKey && r.Subject == subject {
			of = append(of, r)
		}
	}
	return of
}

var errTwice = errors.New("issued before")

func (p *plainLedger) Issue(_ context.Context, r token.Record, verifying []string, limit int) error {
	p.sweep()
	if p.find(r.ClientKey, r.ID) != nil {
		return errTwice
	}
	if r.Parent != "" {
		parent := p.find(r.ClientKey, r.Parent)
		switch n, live := p.ancestors(parent); {
		case !live, parent.KeyID != r.KeyID && !slices.Contains(verifying, parent.KeyID):
			return token.ErrRevoked
		case n >= token.MaxAncestors:
			return token.ErrTooDeep
		}
	}
	same := 0
	var dropped []*token.Record
	for _, old := range p.of(r.ClientKey, r.Subject) {
		if old.KeyID == r.KeyID || slices.Contains(verifying, old.KeyID) {
			same++
		} else if r.Issued.Sub(old.Issued) > time.Hour {
			dropped = append(dropped, old)
		}
	}
	if same >= limit {
		return token.ErrTooMany
	}
	p.records = slices.DeleteFunc(p.records, func(old *token.Record) bool { return slices.Contains(dropped, old) })
	r.Uses = 0
	p.records = append(p.records, &r)
	return nil
}

func (p *plainLedger) Spend(_ context.Context, r token.Record) (token.Lineage, error) {
	issued := p.find(r.ClientKey, r.ID)
	if issued == nil || issued.Subject != r.Subject || issued.KeyID != r.KeyID || issued.MaxUses != r.MaxUses || !p.isLive(issued) {
		return token.Lineage{}, token.ErrRevoked
	}
	issued.Uses++
	return issued.Lineage, nil
}

func (p *plainLedger) Revoke(_ context.Context, of token.Holder, id string) error {
	r := p.find(of.ClientKey, id)
	if !p.isLive(r) || r.Org != of.Org || of.Subject != token.Any && r.Subject != of.Subject {
		return token.ErrNotFound
	}
	p.records = slices.DeleteFunc(p.records, func(old *token.Record) bool { return old == r })
	return nil
}

func (p *plainLedger) RevokeSubject(_ context.Context, h token.Holder) (int, error) {
	p.sweep()
	gone := slices.DeleteFunc(p.of(h.ClientKey, h.Subject), func(r *token.Record) bool { return r.Org != h.Org })
	p.records = slices.DeleteFunc(p.records, func(old *token.Record) bool { return slices.Contains(gone, old) })
	return len(gone), nil
}

// list returns all live records of a holder.
func (p *plainLedger) list(h token.Holder) (list []token.Record) {
	for _, r := range p.records {
		if r.ClientKey == h.ClientKey && r.Org == h.Org && (h.Subject == token.Any || r.Subject == h.Subject) && p.isLive(r) {
			list = append(list, *r)
		}
	}
	slices.SortFunc(list, func(a, b token.Record) int { return cmp.Or(a.Issued.Compare(b.Issued), strings.Compare(a.ID, b.ID)) })
	return list
}

// pair applies the same calls to a ledger in memory and a plainLedger.
type pair struct {
	t       *testing.T
	rand    *rand.Rand
	now     func() time.Time
	memory  token.Ledger
	plain   *plainLedger
	issued  []token.Record
	refused map[string]int // the number of refusals by error
}

func (p *pair) pick(of ...string) string { return of[p.rand.IntN(len(of))] }

// any returns a record that was issued before, or one that was never issued.
func (p *pair) any() token.Record {
	// Mostly a late one, because most others are dead.
	if n := len(p.issued); n > 0 {
		return p.issued[n-1-p.rand.IntN(min(n, 12))]
	}
	return aRecord("never")
}

func (p *pair) same(what string, got, want error) {
	p.t.Helper()
	if errors.Is(got, token.ErrExhausted) {
		got = token.ErrRevoked // plainLedger forgets the reason
	}
	if errors.Is(got, want) || errors.Is(want, errTwice) && got != nil {
		p.refused[fmt.Sprint(want)]++
		return
	}
	p.t.Fatalf("%s: %v, want %v", what, got, want)
}

func (p *pair) org() string { return p.pick("acme", "acme", "acme", "rival") }

func (p *pair) issue() {
	r := token.Record{
		ID: fmt.Sprintf("%06d", len(p.issued)*7919%10007), Org: token.OrgKey(p.org()), ClientKey: p.pick(appA, appA, appB), Subject: p.pick("ann", "bob"), KeyID: p.pick("k1", "k1", "k2", "k3"),
		MaxUses: max(0, int64(p.rand.IntN(6)-2)), Uses: int64(p.rand.IntN(3)), Issued: p.now().Truncate(time.Second),
	}
	if p.rand.IntN(8) == 0 {
		r.Issued = r.Issued.Add(-2 * time.Second) // by a clock that is behind
	}
	if p.rand.IntN(2) == 0 {
		r.Expires = r.Issued.Add(time.Duration(p.rand.IntN(30)) * time.Second)
	}
	if p.rand.IntN(4) > 0 {
		parent := p.any()
		r.Parent, r.Maker = parent.ID, "ann"
		if p.rand.IntN(8) > 0 {
			r.ClientKey = parent.ClientKey
		}
	}
	if again := p.any(); p.rand.IntN(20) == 0 && p.plain.isLive(p.plain.find(again.ClientKey, again.ID)) {
		r.ID, r.ClientKey = again.ID, again.ClientKey
	}
	limit := p.rand.IntN(6)
	verifying := []string{"k1", "k2", "k3", "k1"}
	if p.rand.IntN(3) == 0 {
		verifying = verifying[:p.rand.IntN(4)] // the others were replaced
	}
	want := p.plain.Issue(p.t.Context(), r, verifying, limit)
	p.same("Issue", p.memory.Issue(p.t.Context(), r, verifying, limit), want)
	if want == nil {
		p.issued = append(p.issued, r)
	}
	if kept, _ := token.LedgerLen(p.memory); kept > 2*len(p.plain.records)+64 {
		p.t.Fatalf("%d records kept, and %d have not been found dead", kept, len(p.plain.records))
	}
}

func (p *pair) spend() {
	r := p.any()
	if p.rand.IntN(10) == 0 {
		r.Subject = p.pick("ann", "bob")
	}
	lineage, want := p.plain.Spend(p.t.Context(), r)
	got, err := p.memory.Spend(p.t.Context(), r)
	p.same("Spend", err, want)
	if got != lineage {
		p.t.Fatalf("spent by %v, want %v", got, lineage)
	}
}

func (p *pair) revoke() {
	r := p.any()
	of := token.Holder{Org: token.OrgKey(p.pick(string(r.Org), string(r.Org), string(r.Org), "rival")), ClientKey: r.ClientKey, Subject: p.pick("", token.Any, r.Subject, r.Subject, "bob")}
	p.same("Revoke", p.memory.Revoke(p.t.Context(), of, r.ID), p.plain.Revoke(p.t.Context(), of, r.ID))
}

func (p *pair) revokeSubject() {
	of := token.Holder{Org: token.OrgKey(p.org()), ClientKey: p.pick(appA, appB), Subject: p.pick("ann", "bob")}
	want, _ := p.plain.RevokeSubject(p.t.Context(), of)
	if got, err := p.memory.RevokeSubject(p.t.Context(), of); got != want || err != nil {
		p.t.Fatalf("RevokeSubject: %d, %v, want %d", got, err, want)
	}
}

func (p *pair) list() {
	for _, of := range []token.Holder{
		heldBy(appA, "ann"), heldBy(appA, "bob"), heldBy(appB, "ann"), {Org: "rival", ClientKey: appA, Subject: "ann"},
		heldBy(appA, token.Any), heldBy(appB, token.Any), {Org: "rival", ClientKey: appA, Subject: token.Any}, heldBy(appA, ""),
	} {
		var got []token.Record
		var after token.Position
		for limit := 1 + p.rand.IntN(5); ; {
			page, next, err := p.memory.List(p.t.Context(), of, after, limit)
			if err != nil || len(page) > limit {
				p.t.Fatalf("List: %d records of %d, %v", len(page), limit, err)
			}
			got = append(got, page...)
			if after = next; next.IsZero() {
				break
			}
		}
		if want := p.plain.list(of); !slices.Equal(got, want) {
			p.t.Fatalf("List (-want +got):\n%s", gocmp.Diff(want, got, samePrefix))
		}
	}
}

func TestMemoryLedgerIsThePlainOne(t *testing.T) {
	if raceEnabled {
		t.Skip("one goroutine: .ci/run core runs it")
	}
	refused := map[string]int{}
	for seed := range uint64(500) {
		now, advance := clockAt(someTime)
		p := &pair{
			t: t, rand: rand.New(rand.NewPCG(seed, 0)), now: now, refused: refused,
			memory: token.NewMemoryLedger(now), plain: &plainLedger{now: now},
		}
		for range 300 {
			switch n := p.rand.IntN(100); {
			case n < 45:
				p.issue()
			case n < 85:
				p.spend()
			case n < 90:
				p.revoke()
			case n < 91:
				p.revokeSubject()
			case n < 92:
				advance(time.Hour)
			default:
				advance(time.Duration(p.rand.IntN(4)) * 500 * time.Millisecond)
			}
			p.list()
		}
	}
	for _, err := range []error{nil, errTwice, token.ErrRevoked, token.ErrTooDeep, token.ErrTooMany, token.ErrNotFound} {
		if refused[fmt.Sprint(err)] < 20 {
			t.Errorf("%v came %d times", err, refused[fmt.Sprint(err)])
		}
	}
}

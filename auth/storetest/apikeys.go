package storetest

import (
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/apikey"
	"github.com/tenantkit/tenantkit/internal/face"
	"github.com/tenantkit/tenantkit/internal/suite"
)

// APIKeys checks the contract of apikey.Store. In each subtest open returns a store, which may have
// other records.
func APIKeys(t *testing.T, open func(t *testing.T) apikey.Store, f Features) {
	suite.Run(t, suite.Tests[func(*testing.T, *apiKeys)]{
		{"a record comes back as it was", testKeyRecord},
		{"an id is unique over all orgs", testKeyTwice},
		{"an unknown id is not found by any verb", testUnknownKey},
		{"an account has at most limit keys, and dead ones do not count", testKeyLimit},
		{"many Adds at the limit: the limit is exact", testKeyLimitRace},
		{"uses are counted, and none is left after the last", testKeyUses},
		{"many uses at once: the count is exact", testKeyUsesRace},
		{"the last use is recorded once an hour", testKeySeen},
		{"Swap changes what it should, and nothing that was changed meanwhile", testKeySwap},
		{"many Swaps at once: one wins", testKeySwapRace},
		{"Swap adds the successor in the same step, or changes nothing", testKeySuccessor},
		{"a use during a Swap is counted", testUseDuringSwap},
		{"Revoke ends the key of the org and no other, and neither Use nor Swap creates one", testKeyRevoke},
		{"lists by org, owner, app and end, in pages", testKeyList},
		{"a call whose context has ended finds no absence", testKeyContext},
	}, func(t *testing.T, test func(*testing.T, *apiKeys)) {
		test(t, &apiKeys{Store: open(t), f: suite.Features(f), org: suite.Features(f).NewOrg(), account: suite.Features(f).NewAccount()})
	})
}

type apiKeys struct {
	apikey.Store
	f       suite.Features
	org     auth.OrgKey
	account string
}

// record returns a new record of the account.
func (k *apiKeys) record() apikey.Record {
	return apikey.Record{
		Grant: apikey.Grant{Prefix: "acme", Account: k.account, Name: "é \"'\\", Scope: []string{"object.read.c_note"}},
		ID:    suite.Random()[:13], Hash: suite.NewHash(), Org: k.org, Maker: k.account,
		Created: k.f.Time().UTC().Truncate(time.Millisecond),
	}
}

// add adds a record and returns it.
func (k *apiKeys) add(t *testing.T, change func(*apikey.Record)) apikey.Record {
	t.Helper()
	r := suite.With(k.record(), change)
	suite.Must(t, "Add", k.Add(t.Context(), r, suite.Many))
	return r
}

func (k *apiKeys) get(t *testing.T, id string) apikey.Record {
	t.Helper()
	r, err := k.Get(t.Context(), id)
	suite.Must(t, "Get", err)
	return r
}

func (k *apiKeys) gone(t *testing.T, what, id string) {
	t.Helper()
	_, err := k.Get(t.Context(), id)
	suite.Expect(t, what, err, auth.ErrNotFound)
}

func keyUses(n int64) func(*apikey.Record) { return func(r *apikey.Record) { r.Uses = n } }

func testKeyRecord(t *testing.T, k *apiKeys) {
	full := k.add(t, func(r *apikey.Record) {
		r.App, r.Uses, r.Expires, r.Disabled = suite.Random(), 7, r.Created.Add(time.Hour), true
		r.Networks = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("2001:db8::/32")}
		r.Name, r.Successor = strings.Repeat("n", 128), suite.Random()[:13]
	})
	empty := k.add(t, func(r *apikey.Record) { r.Name, r.Scope, r.Maker = "", nil, "" })
	closed := k.add(t, func(r *apikey.Record) { r.Networks, r.Scope = []netip.Prefix{}, []string{} }) // an empty Networks admits nobody
	for _, want := range []apikey.Record{full, empty, closed} {
		suite.Same(t, "Get", k.get(t, want.ID), want)
	}
	used := k.record()
	used.Uses, used.Used, used.Seen, used.From = 2, 2, used.Created, netip.MustParsePrefix("192.0.2.0/24")
	suite.Expect(t, "Add", k.Add(t.Context(), used, suite.Many), nil)
	got := k.get(t, used.ID)
	suite.Check(t, got.Used == 0 && got.Seen.IsZero() && !got.From.IsValid(), "a new key has the uses of %+v", got)
}

func testKeyTwice(t *testing.T, k *apiKeys) {
	first := k.add(t, nil)
	again := suite.With(k.record(), func(r *apikey.Record) { r.ID, r.Org, r.Account = first.ID, k.f.NewOrg(), k.f.NewAccount() })
	suite.Expect(t, "the same id in another org", k.Add(t.Context(), again, suite.Many), auth.ErrConflict)
	suite.Same(t, "the first one", k.get(t, first.ID), first)
	id := suite.Random()[:13]
	suite.Wins(t, 1, func(int) error {
		r := k.record()
		r.ID, r.Account = id, k.f.NewAccount()
		return k.Add(t.Context(), r, suite.Many)
	}, auth.ErrConflict)
}

func testUnknownKey(t *testing.T, k *apiKeys) {
	real := k.add(t, nil)
	for _, id := range []string{"", "unknown", real.ID[:12], real.ID + "0", strings.ToUpper(real.ID), real.ID + " ", "%", "'", "\x00", "\xff"} {
		r := real
		r.ID = id
		k.gone(t, "Get "+id, id)
		if id == strings.ToValidUTF8(strings.ReplaceAll(id, "\x00", ""), "") { // others are no ids that a key can have
			suite.Expect(t, "Use "+id, k.Use(t.Context(), id, real.Created, netip.Prefix{}), auth.ErrNotFound)
			suite.Expect(t, "Swap "+id, k.Swap(t.Context(), r, r, nil, 0), auth.ErrConflict)
		}
		suite.Expect(t, "Revoke "+id, k.Revoke(t.Context(), k.org, id), auth.ErrNotFound)
	}
}

func testKeyLimit(t *testing.T, k *apiKeys) {
	ended := k.add(t, func(r *apikey.Record) { r.Expires = r.Created.Add(time.Minute) })
	usedUp := k.add(t, keyUses(1))
	suite.Expect(t, "the one use", k.Use(t.Context(), usedUp.ID, usedUp.Created, netip.Prefix{}), nil)
	disabled := k.add(t, func(r *apikey.Record) { r.Disabled = true })
	late := suite.With(k.record(), func(r *apikey.Record) { r.Created = r.Created.Add(time.Minute) }) // when the first has ended
	suite.Expect(t, "Add of a second", k.Add(t.Context(), late, 2), nil)
	k.gone(t, "the ended one", ended.ID)
	k.gone(t, "the one that is used up", usedUp.ID)
	suite.Expect(t, "Add of a third", k.Add(t.Context(), k.record(), 2), apikey.ErrTooMany)
	k.get(t, disabled.ID)
	other := suite.With(k.record(), func(r *apikey.Record) { r.Account = k.f.NewAccount() })
	suite.Expect(t, "another account", k.Add(t.Context(), other, 2), nil)
	other = suite.With(k.record(), func(r *apikey.Record) { r.Org = k.f.NewOrg() })
	suite.Expect(t, "the account's id in another org", k.Add(t.Context(), other, 2), nil)
}

func testKeyLimitRace(t *testing.T, k *apiKeys) {
	const limit = 5
	suite.Wins(t, limit, func(int) error { return k.Add(t.Context(), k.record(), limit) }, apikey.ErrTooMany)
}

func testKeyUses(t *testing.T, k *apiKeys) {
	r := k.add(t, keyUses(2))
	for want := int64(1); want <= 2; want++ {
		suite.Expect(t, "Use", k.Use(t.Context(), r.ID, r.Created, netip.Prefix{}), nil)
		got := k.get(t, r.ID)
		suite.Check(t, got.Used == want && got.Uses == 2, "after %d uses: %d of %d", want, got.Used, got.Uses)
	}
	for range 3 {
		suite.Expect(t, "a third", k.Use(t.Context(), r.ID, r.Created, netip.Prefix{}), auth.ErrNotFound)
	}
	suite.Same(t, "uses, without those that were refused", k.get(t, r.ID).Used, 2)
}

func testKeyUsesRace(t *testing.T, k *apiKeys) {
	for _, uses := range []int{1, 2, 25} {
		r := k.add(t, keyUses(int64(uses)))
		suite.Wins(t, uses, func(int) error { return k.Use(t.Context(), r.ID, r.Created, netip.Prefix{}) }, auth.ErrNotFound)
	}
}

func testKeySeen(t *testing.T, k *apiKeys) {
	for _, limit := range []int64{0, 10} {
		r := k.add(t, keyUses(limit))
		uses := suite.Seen(t, r.Created, func(use face.Use) {
			suite.Expect(t, "Use", k.Use(t.Context(), r.ID, use.Seen, use.From), nil)
		}, func() face.Use { return k.get(t, r.ID).Use })
		suite.Same(t, fmt.Sprint("uses, of ", limit), k.get(t, r.ID).Used, min(limit, uses))
	}
}

func testKeySwap(t *testing.T, k *apiKeys) {
	before := k.add(t, keyUses(5))
	suite.Expect(t, "Use", k.Use(t.Context(), before.ID, before.Created, netip.MustParsePrefix("192.0.2.0/24")), nil)
	after := before
	after.Name, after.Scope, after.Disabled, after.Expires = "new", []string{}, true, before.Created.Add(time.Hour)
	after.Networks = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	suite.Expect(t, "Swap", k.Swap(t.Context(), before, after, nil, 0), nil)
	want := after
	want.Used, want.Seen, want.From = 1, before.Created, netip.MustParsePrefix("192.0.2.0/24")
	suite.Same(t, "Get", k.get(t, before.ID), want)
	suite.Expect(t, "by what it was before", k.Swap(t.Context(), before, before, nil, 0), auth.ErrConflict)
	suite.Expect(t, "back", k.Swap(t.Context(), after, before, nil, 0), nil)
}

func testKeySwapRace(t *testing.T, k *apiKeys) {
	before := k.add(t, nil)
	won := suite.Wins(t, 1, func(i int) error {
		after := suite.With(before, func(r *apikey.Record) { r.Name = fmt.Sprint(i) })
		return k.Swap(t.Context(), before, after, nil, 0)
	}, auth.ErrConflict)
	suite.Same(t, "the name", k.get(t, before.ID).Name, fmt.Sprint(won))
}

func testKeySuccessor(t *testing.T, k *apiKeys) {
	before := k.add(t, nil)
	after, next := before, k.record()
	after.Successor, after.Expires = next.ID, before.Created.Add(time.Hour)
	suite.Expect(t, "over the limit", k.Swap(t.Context(), before, after, &next, 1), apikey.ErrTooMany)
	taken := suite.With(next, func(r *apikey.Record) { r.ID = before.ID })
	suite.Expect(t, "an id that exists", k.Swap(t.Context(), before, after, &taken, suite.Many), auth.ErrConflict)
	suite.Same(t, "after an error", k.get(t, before.ID), before)
	k.gone(t, "the successor", next.ID)

	suite.Wins(t, 1, func(int) error {
		successor, replaced := k.record(), before
		replaced.Successor, replaced.Expires = successor.ID, before.Created.Add(time.Hour)
		return k.Swap(t.Context(), before, replaced, &successor, suite.Many)
	}, auth.ErrConflict)
	old := k.get(t, before.ID)
	k.get(t, old.Successor)
	suite.Same(t, "keys, the old one and its successor", len(k.pages(t, apikey.Of{Org: k.org}, apikey.MaxPage)), 2)

	// A key that ends at once makes room for its successor.
	last := k.record()
	ended := k.get(t, old.Successor)
	now := suite.With(ended, func(r *apikey.Record) { r.Successor, r.Expires = last.ID, last.Created })
	suite.Expect(t, "at the limit", k.Swap(t.Context(), ended, now, &last, 2), nil)
	k.get(t, last.ID)
}

// testUseDuringSwap changes a key while it is used: neither may undo the other.
func testUseDuringSwap(t *testing.T, k *apiKeys) {
	before := k.add(t, keyUses(suite.Crowd))
	after := suite.With(before, func(r *apikey.Record) { r.Name = "changed" })
	suite.Wins(t, suite.Crowd, func(i int) error {
		if i == suite.Crowd/2 {
			return k.Swap(t.Context(), before, after, nil, 0)
		}
		return k.Use(t.Context(), before.ID, before.Created, netip.Prefix{})
	})
	got := k.get(t, before.ID)
	suite.Check(t, got.Used == suite.Crowd-1 && got.Name == "changed", "%d uses, with the name %q", got.Used, got.Name)
}

func testKeyRevoke(t *testing.T, k *apiKeys) {
	other := k.add(t, nil)
	for _, uses := range []int64{0, 5} {
		one := k.add(t, keyUses(uses))
		suite.Expect(t, "by another org", k.Revoke(t.Context(), k.f.NewOrg(), one.ID), auth.ErrNotFound)
		suite.Expect(t, "by no org", k.Revoke(t.Context(), "", one.ID), auth.ErrNotFound)
		suite.Expect(t, "by the org", k.Revoke(t.Context(), k.org, one.ID), nil)
		suite.Expect(t, "again", k.Revoke(t.Context(), k.org, one.ID), auth.ErrNotFound)
		suite.Expect(t, "Use", k.Use(t.Context(), one.ID, one.Created, netip.Prefix{}), auth.ErrNotFound)
		k.gone(t, "after Use", one.ID)
		suite.Expect(t, "Swap", k.Swap(t.Context(), one, one, nil, 0), auth.ErrConflict)
		k.gone(t, "after Swap", one.ID)
	}
	k.get(t, other.ID)
	suite.Same(t, "the keys that are left", k.pages(t, apikey.Of{Org: k.org}, apikey.MaxPage), []apikey.Record{other})
}

func testKeyList(t *testing.T, k *apiKeys) {
	app, second := suite.Random(), k.f.NewAccount()
	var all []apikey.Record
	for i := range 12 {
		all = append(all, k.add(t, func(r *apikey.Record) {
			r.Account = []string{second, k.account}[i%2]
			r.App = []string{app, "", ""}[i%3]
			if i%4 == 0 {
				r.Expires = r.Created.Add(time.Duration(i+1) * 24 * time.Hour)
			}
		}))
	}
	k.add(t, func(r *apikey.Record) { r.Org, r.App = k.f.NewOrg(), app })
	slices.SortFunc(all, func(a, b apikey.Record) int { return strings.Compare(a.ID, b.ID) })
	for _, of := range []apikey.Of{
		{Org: k.org}, {Org: k.org, Account: second}, {Org: k.org, App: app}, {Org: k.org, Account: k.account, App: app},
		{Org: k.org, EndsBefore: all[0].Created.Add(6 * 24 * time.Hour)}, {Org: k.org, Account: k.f.NewAccount()}, {Org: k.f.NewOrg()}, {}, {Account: k.account},
	} {
		want := slices.DeleteFunc(slices.Clone(all), func(r apikey.Record) bool { return !of.Has(&r) })
		for _, limit := range suite.Limits(len(want) + 2) {
			got := k.pages(t, of, limit)
			same := len(got)+len(want) == 0 || reflect.DeepEqual(got, want)
			suite.Check(t, same, "%+v in pages of %d: %d records, want %d", of, limit, len(got), len(want))
		}
	}
	var records []apikey.Record
	for r, err := range apikey.Records(t.Context(), k, apikey.Of{Org: k.org}) {
		suite.Must(t, "Records", err)
		records = append(records, r)
	}
	suite.Same(t, "Records", records, all)
	for _, limit := range []int{-1, 0, apikey.MaxPage + 1} {
		_, _, err := k.List(t.Context(), apikey.Of{Org: k.org}, "", limit)
		suite.Fails(t, fmt.Sprint("the limit ", limit), err)
	}
}

// pages returns all records of List in pages of a limit.
func (k *apiKeys) pages(t *testing.T, of apikey.Of, limit int) []apikey.Record {
	t.Helper()
	return suite.Pages(t, limit, func(r apikey.Record) string { return r.ID }, strings.Compare, func(after string) ([]apikey.Record, string, error) {
		return k.List(t.Context(), of, after, limit)
	})
}

func testKeyContext(t *testing.T, k *apiKeys) {
	ctx, r := suite.Ended(t), k.add(t, keyUses(5))
	fresh := k.record()
	_, get := k.Get(ctx, r.ID)
	page, _, list := k.List(ctx, apikey.Of{Org: k.org}, "", 10)
	for verb, err := range map[string]error{
		"Add": k.Add(ctx, fresh, suite.Many), "Get": get, "Use": k.Use(ctx, r.ID, r.Created, netip.Prefix{}), "List": list,
		"Swap": k.Swap(ctx, r, r, nil, 0), "Revoke": k.Revoke(ctx, k.org, r.ID),
	} {
		absent := suite.Matches(err, auth.ErrNotFound, auth.ErrConflict, apikey.ErrTooMany) && !errors.Is(err, auth.ErrUnavailable)
		suite.Check(t, err != nil && !absent, "%s: error %v, want that of the context", verb, err)
	}
	suite.Check(t, page == nil, "List returns records beside an error")
	k.gone(t, "what was not added", fresh.ID)
	suite.Same(t, "its uses", k.get(t, r.ID).Used, 0)
}

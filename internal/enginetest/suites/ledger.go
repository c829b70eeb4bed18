// Package suites checks stores of this module beyond what package storetest checks for every store:
// lineage, pages, limits and refused claims in detail, and key pairs with their rotation.
package suites

import (
	"slices"
	"sync/atomic"
	"testing"

	"github.com/tenantkit/tenantkit/auth/storetest"
	"github.com/tenantkit/tenantkit/internal/suite"
	"github.com/tenantkit/tenantkit/token"
)

// Ledger checks what storetest.Ledger leaves out: the details of lineage, of replaced keys and of
// pages. Each subtest opens a ledger.
func Ledger(t *testing.T, open func(t *testing.T) token.Ledger, f storetest.Features) {
	suite.Run(t, suite.Tests[func(*testing.T, *suite.Ledger)]{
		{"M07 a token made by an exhausted one", testMadeByExhausted},
		{"M07 the limit is for records whose ancestors are live", testLimitOfDescendants},
		{"M07 revoking a token while those it made are spent", testRevokeMakerRace},
		{"M07 revoking a token while it makes others", testRevokeWhileMaking},
		{"M07 makers whose names look alike", testMakerNames},
		{"M07 each of five in a row is revoked", testMadeByEachRevoked},
		{"M08 five makers in a row, and uses", testDeepest},
		{"T35 holders that look alike, and two orgs of one client key", testHoldersLikeIt},
		{"pages end with their last record", testPageBoundaries},
		{"M07 a token made by one of a revoked subject", testMadeByRevokedSubject},
		{"M07 a token made by an expired one", testMadeByExpired},
		{"names that look alike are apart", testLedgerNames},
		{"pages of ids that look alike", testPageNames},
		{"a page begins after a record that is gone", testPageAfterGone},
		{"M07 any subject, and records whose ancestors are dead", testAnySubjectLineage},
		{"T20 listing while tokens are issued and revoked", testListRace},
		{"T21 the limit is for the records of all keys that verify", testLimitOverKeys},
		{"T34 records of keys that an issue does not name are kept for an hour", testKeptForAnHour},
		{"K36 records of keys that were replaced all the time", testReplacedAllTheTime},
		{"a last use beside the end of its subject is counted once", testRevokeSubjectCounts},
		{"M07 a token made by one of another app", testMadeByAnotherApp},
		{"M20 a token whose maker's key was replaced meanwhile", testMadeByReplacedKey},
		{"M07 a dead ancestor costs no use", testDeadAncestorCostsNoUse},
		{"an id issued at once is issued once", testIssueTwiceRace},
		{"T20 revoking a subject while tokens are issued", testRevokeSubjectRace},
		{"a list is the caller's own", testListAliasing},
	}, func(t *testing.T, test func(*testing.T, *suite.Ledger)) {
		test(t, suite.NewLedger(open(t), suite.Features(f)))
	})
}

// testRevokeSubjectCounts spends the only use of a token while its subject is revoked. Either the use
// comes first, and the token is not live any more, or it is refused.
func testRevokeSubjectCounts(t *testing.T, l *suite.Ledger) {
	for range 50 {
		r, counted := l.Add(t, suite.Limited(1)), 0
		errs := suite.AtOnce(2, func(i int) (err error) {
			if i == 0 {
				return l.Use(t.Context(), r)
			}
			counted, err = l.RevokeSubject(t.Context(), l.Of(l.Subject))
			return err
		})
		suite.Expect(t, "RevokeSubject", errs[1], nil)
		if used := errs[0] == nil; used == (counted == 1) {
			t.Errorf("Spend: %v, and %d were live", errs[0], counted)
		}
	}
}

func testRevokeSubjectRace(t *testing.T, l *suite.Ledger) {
	for range 5 {
		before := l.Add(t, nil)
		var revoked atomic.Bool
		errs := suite.AtOnce(4, func(i int) error {
			switch i {
			case 0:
				_, err := l.RevokeSubject(t.Context(), l.Of(l.Subject))
				revoked.Store(true)
				return err
			case 1:
				return l.RefusedAfter(t.Context(), before, &revoked)
			}
			return l.Issue(t.Context(), l.Record(), nil, suite.Many)
		})
		suite.Tally(t, errs)
		if slices.Contains(idsOf(t, l), before.ID) {
			t.Error("listed after the subject was revoked")
		}
	}
}

// idsOf lists the ids of the ledger's own subject.
func idsOf(t *testing.T, l *suite.Ledger) (ids []string) {
	t.Helper()
	for _, r := range l.Pages(t, l.Of(l.Subject), token.MaxPage) {
		ids = append(ids, r.ID)
	}
	return ids
}

package main

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// unknownKey is the reason for every credential of a key that is not of the org: another org's is nobody's
// business here.
const unknownKey = "unknown key"

// reasons are the words for a rejection by the code of its fault. The caller learns the code, and the
// administrators of the org the word.
var reasons = map[string]string{
	auth.DetailNoCredentials:      "no credential",
	auth.DetailAmbiguous:          "two credentials",
	auth.DetailMalformedSignature: "malformed",
	auth.DetailInvalidSignature:   "signature", // or one of causes
	auth.DetailInvalidToken:       "token",     // likewise
	auth.DetailStaleSignature:     "stale",
	auth.DetailReplayed:           "replayed",
	auth.DetailContentDigest:      "body",
	auth.DetailPrincipal:          "account",
	auth.DetailKeyMismatch:        unknownKey,
	auth.DetailTokenExpired:       "expired",
	auth.DetailTokenNotActive:     "not yet",
	auth.DetailScope:              "scope",
	auth.DetailForbidden:          "right",
	auth.DetailDelegation:         "delegation",
	auth.DetailSessionExpired:     "session ended",
	auth.DetailLoggedInElsewhere:  "session ended",
	auth.DetailReauthenticate:     "old proof",
	auth.DetailCrossOrigin:        "origin",
	auth.DetailThrottled:          "throttled",
	auth.DetailUnavailable:        "store",
}

// causes tell apart what has one code, in this order.
var causes = []struct {
	err    error
	reason string
}{
	{signing.ErrMismatch, "signature"},
	{signing.ErrVersion, "version"},
	{auth.ErrNetwork, "network"},
	{auth.ErrEnded, "expired"},
	{token.ErrRevoked, "revoked"},
	{token.ErrExhausted, "spent"},
	{auth.ErrNotFound, "disabled"}, // the app or its account
}

// rejection returns why a decision was a rejection, in a word, and the client key of this org that its
// credential names. It tells nothing of another org.
func (p *platform) rejection(ctx context.Context, d auth.Event) (reason, claimed string) {
	if d.Detail != auth.DetailInvalidSignature && d.Detail != auth.DetailInvalidToken {
		return reasons[d.Detail], p.ownKey(ctx, d)
	}
	if errors.Is(d.Err, signing.ErrUnknownKey) {
		return unknownKey, "" // without a look-up, because whoever asks chooses the key
	}
	if claimed = p.ownKey(ctx, d); claimed == "" && d.Claimed.App != "" {
		return unknownKey, ""
	}
	for _, cause := range causes {
		if errors.Is(d.Err, cause.err) {
			return cause.reason, claimed
		}
	}
	return reasons[d.Detail], claimed
}

// ownKey returns the claimed client key if it is of an app of the org, also of a disabled one. The Guard's
// cache has just seen it.
func (p *platform) ownKey(ctx context.Context, d auth.Event) string {
	if d.Claimed.App == "" {
		return ""
	}
	if app, err := p.store.found.App(ctx, d.Claimed.App); err == nil && app.Org == d.Org && app.ClientKey == d.Claimed.App {
		return app.ClientKey
	}
	return ""
}

// history keeps the latest decisions of each org, for whoever opens the stream after them. It is a share for
// each org and a bound in all: the org that was quiet longest loses its history first.
type history struct {
	mu   sync.Mutex
	orgs map[auth.OrgKey][]auth.Event // the oldest first
}

const (
	historySize = 500 // decisions of an org, of about a kilobyte each
	historyOrgs = 32
)

func newHistory() *history { return &history{orgs: make(map[auth.OrgKey][]auth.Event)} }

func (h *history) add(d auth.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	latest := h.orgs[d.Org]
	if latest == nil && len(h.orgs) >= historyOrgs {
		ended := func(org auth.OrgKey) time.Time { return h.orgs[org][len(h.orgs[org])-1].Time }
		delete(h.orgs, slices.MinFunc(slices.Collect(maps.Keys(h.orgs)), func(a, b auth.OrgKey) int {
			return ended(a).Compare(ended(b))
		}))
	}
	if latest = append(latest, d); len(latest) > historySize {
		latest[0] = auth.Event{} // the array stays until it is full
		latest = latest[1:]
	}
	h.orgs[d.Org] = latest
}

// last returns at most some decisions of an org, the oldest first.
func (h *history) last(org auth.OrgKey, most int) []auth.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	latest := h.orgs[org]
	most = min(max(most, 0), len(latest))
	return slices.Clone(latest[len(latest)-most:])
}

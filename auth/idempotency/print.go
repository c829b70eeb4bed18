package idempotency

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/scope"
)

// prints are digests of what must be equal for a response to be sent again. They are only kept sealed:
// whoever could read them could try out the secrets that a body may hold.
type prints struct{ Request, Authority []byte }

// digest hashes lists of strings. Quotes keep other lists from giving the same bytes.
func digest(lists ...[]string) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%q", lists))
}

// callerOf returns the account that called, whatever account it acts as.
func callerOf(p auth.Principal) string { return cmp.Or(p.Caller, p.Account) }

// identity returns the ID of an entry.
func identity(p auth.Principal, pattern, key string) [sha256.Size]byte {
	return digest([]string{"identity", string(p.Org), callerOf(p), p.App, pattern, key})
}

func printOf(r *http.Request, body []byte, t *auth.Tenant, p auth.Principal) prints {
	query := r.URL.RawQuery
	if values, err := url.ParseQuery(query); err == nil {
		query = values.Encode() // in the order of its names
	}
	sum := sha256.Sum256(body)
	request := digest([]string{r.Method, t.Path(), query, string(sum[:])}, r.Header["Content-Type"])
	// By this a principal may see a response.
	authority := digest([]string{p.Account, fmt.Sprintf("%d %t %t", p.Grant, p.SkipACL, p.SkipCreateACL)},
		slices.Compact(slices.Sorted(slices.Values(p.Roles))), chainsOf(p.Scope), chainsOf(p.Granted))
	return prints{request[:], authority[:]}
}

// chainsOf returns what s permits, each chain once, in order. Chains yields nothing of an intersection that is too large, of which
// Missing still knows something: it equals no other.
func chainsOf(s scope.Set) (all []string) {
	for chain := range s.Chains() {
		all = append(all, chain)
	}
	if none := (scope.Set{}); all == nil && none.Missing(s) != nil {
		all = []string{rand.Text()}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

package idempotency

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/tenantkit/tenantkit/auth"
)

// prints are digests of what must be equal for a response to be sent again. They are only kept sealed:
// whoever could read them could try out the secrets that a body may hold.
type prints struct{ request, authority [sha256.Size]byte }

// digest hashes texts so that no other texts give the same bytes.
type digest struct{ hash.Hash }

func newDigest(kind string) digest {
	d := digest{sha256.New()}
	d.add(kind)
	return d
}

func (d digest) add(texts ...string) {
	for _, text := range texts {
		d.Write(binary.BigEndian.AppendUint64(nil, uint64(len(text))))
		io.WriteString(d, text)
	}
}

// list adds a set of texts.
func (d digest) list(texts []string) {
	slices.Sort(texts)
	texts = slices.Compact(texts)
	d.add(strconv.Itoa(len(texts)))
	d.add(texts...)
}

func (d digest) sum() [sha256.Size]byte { return [sha256.Size]byte(d.Sum(nil)) }

// callerOf returns the account that called, whatever account it acts as.
func callerOf(p auth.Principal) string { return cmp.Or(p.Caller, p.Account) }

// identity returns the ID of an entry.
func identity(p auth.Principal, pattern, key string) [sha256.Size]byte {
	d := newDigest("identity")
	d.add(string(p.Org), callerOf(p), p.App, pattern, key)
	return d.sum()
}

func printOf(r *http.Request, body []byte, t *auth.Tenant, p auth.Principal) prints {
	d := newDigest("request")
	d.add(r.Method, t.Path(), canonical(r.URL.RawQuery), strings.Join(r.Header["Content-Type"], "\n"), string(body))
	return prints{d.sum(), authority(p)}
}

func readBody(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	switch {
	case err != nil:
		return nil, &auth.Error{Detail: auth.DetailBody, Err: err} // Fail tells one that is too large
	case len(body) > maxBody:
		return nil, &auth.Error{Detail: auth.DetailTooLarge}
	}
	return body, nil
}

// canonical returns a query in the order of its names. One that is malformed stays as it is.
func canonical(query string) string {
	values, err := url.ParseQuery(query)
	if err != nil {
		return query
	}
	return values.Encode()
}

// authority is by what a principal may see a response.
func authority(p auth.Principal) [sha256.Size]byte {
	d := newDigest("authority")
	d.add(p.Account, strconv.Itoa(int(p.Grant)), strconv.FormatBool(p.SkipACL), strconv.FormatBool(p.SkipCreateACL))
	d.list(slices.Clone(p.Roles))
	var chains, granted []string
	for chain := range p.Scope.Chains() {
		chains = append(chains, chain.String())
	}
	for chain := range p.Granted.Chains() {
		granted = append(granted, chain.String())
	}
	d.list(chains)
	d.list(granted)
	return d.sum()
}

package webhooks

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/tenantkit/tenantkit/signing"
)

// Sender delivers events. One key is enough for all customers: each signature names
// the host and the path that it is for.
type Sender struct {
	Key ed25519.PrivateKey

	// Base sends the requests; Public if nil.
	Base http.RoundTripper

	// Waits are the times before each further attempt.
	Waits []time.Duration
}

// ErrRefused is returned if the receiver does not want the event, or any event.
var ErrRefused = errors.New("webhooks: the receiver refuses the event")

// Deliver sends an event to the URL of a customer until the receiver takes it. It signs
// each attempt anew, with a nonce of its own: a receiver accepts none twice.
func (s *Sender) Deliver(ctx context.Context, url string, e Event) error {
	body, err := json.Marshal(e)
	if err != nil {
		return err
	}
	base, _, _ := strings.Cut(url, "?") // a signature covers the query too
	client := &http.Client{
		Timeout: 10 * time.Second,
		Transport: &signing.Transport{
			BaseURL:   base,
			ClientKey: KeyID,
			Signer:    s.Key,
			Base:      s.base(),
		},
		// A redirect leads to a URL that nobody has registered.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	for attempt := 0; ; attempt++ {
		err := deliver(ctx, client, url, body)
		if err == nil || errors.Is(err, ErrRefused) || attempt == len(s.Waits) {
			return err
		}
		select {
		case <-time.After(s.Waits[attempt]):
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		}
	}
}

// again are answers of a receiver that may take another attempt.
var again = []int{http.StatusUnauthorized, http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests}

func deliver(ctx context.Context, client *http.Client, url string, body []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	res, err := client.Do(r)
	if err != nil {
		return err
	}
	res.Body.Close() // it is the customer's, and may be endless
	switch {
	case res.StatusCode/100 == 2:
		return nil
	case slices.Contains(again, res.StatusCode), res.StatusCode >= 500:
		return fmt.Errorf("webhooks: the receiver answered %d", res.StatusCode)
	}
	return fmt.Errorf("%w: it answered %d", ErrRefused, res.StatusCode)
}

func (s *Sender) base() http.RoundTripper {
	if s.Base == nil {
		return Public
	}
	return s.Base
}

// Public connects to public addresses only. Customers choose the URLs, and could
// otherwise name a service inside the platform's own network. It checks the address
// after its name has been resolved. It uses no proxy, because a proxy would resolve the
// name itself.
var Public http.RoundTripper = &http.Transport{
	DialContext: (&net.Dialer{
		Timeout: 5 * time.Second,
		Control: func(_, address string, _ syscall.RawConn) error { return checkPublic(address) },
	}).DialContext,
	TLSHandshakeTimeout:   5 * time.Second,
	ResponseHeaderTimeout: 10 * time.Second,
	MaxIdleConnsPerHost:   2,
	IdleConnTimeout:       time.Minute,
}

var errInternal = errors.New("webhooks: the address is not a public one")

// inside are networks of IPv4 that netip does not know as private: of carriers, of
// documents and tests, of relays, and reserved ones.
var inside = prefixes("0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15",
	"198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4")

// Of IPv6 only global is public, without what contains addresses of IPv4 (Teredo, 6to4), and
// without networks of documents and tests. The IANA registries of special-purpose addresses
// name both.
var (
	global  = netip.MustParsePrefix("2000::/3")
	special = prefixes("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
)

func prefixes(all ...string) (networks []netip.Prefix) {
	for _, one := range all {
		networks = append(networks, netip.MustParsePrefix(one))
	}
	return networks
}

func checkPublic(address string) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	addr := to.Addr().Unmap()
	not := inside
	if addr.Is6() {
		not = special
	}
	contains := func(network netip.Prefix) bool { return network.Contains(addr) }
	if !addr.IsGlobalUnicast() || addr.IsPrivate() || addr.Is6() && !global.Contains(addr) || slices.ContainsFunc(not, contains) {
		return errInternal
	}
	return nil
}

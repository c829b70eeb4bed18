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
	case res.StatusCode == http.StatusTooManyRequests, res.StatusCode == http.StatusUnauthorized, res.StatusCode >= 500:
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

// inside are networks that netip does not know as private: of carriers, of translation
// to IPv4, and of tests.
var inside = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("64:ff9b::/96"),
	netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("2002::/16"),
}

func checkPublic(address string) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	addr := to.Addr().Unmap()
	if !addr.IsGlobalUnicast() || addr.IsPrivate() {
		return errInternal
	}
	for _, network := range inside {
		if network.Contains(addr) {
			return errInternal
		}
	}
	return nil
}

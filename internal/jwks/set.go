package jwks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenantkit/tenantkit/internal/strictjson"
)

const (
	fresh   = 5 * time.Minute  // keys are used for so long without a question
	aged    = 10 * time.Minute // from then on a request waits for the answer
	keep    = 24 * time.Hour   // if the issuer does not answer, its last keys are used for so long
	pause   = 10 * time.Second // between the beginnings of two fetches
	timeout = 5 * time.Second  // of one fetch
	maxBody = 256 << 10        // of a set, and of a discovery document
)

// ErrUnknown: the issuer has no such key. Any other error of Set.Key says nothing about
// the key.
var ErrUnknown = errors.New("the issuer has no usable key of this kid")

var errNeverFetched = errors.New("the keys of the issuer were not fetched yet")

// Set is the JWK set of one issuer. A dead issuer delays nobody but those who ask for
// its keys. A Set must not be changed once used. It is safe for concurrent use.
type Set struct {
	URL             string            // of the set; "": the one that the Issuer's OpenID configuration names
	Issuer          string            // must equal issuer in that configuration
	Base            http.RoundTripper // nil: http.DefaultTransport
	UnsafePlaintext bool              // allow http to a loopback host

	known atomic.Pointer[known] // nil until the first success

	mu     sync.Mutex
	began  time.Time     // the latest fetch
	flight chan struct{} // closed at the end of the fetch under way; nil if there is none
	err    error         // of the fetch that ended last
}

// known is what the latest successful fetch returned.
type known struct {
	keys    map[string]*Key
	url     string // of the set
	etag    string
	fetched time.Time // its beginning
}

func (k *known) key(kid string, now time.Time, within time.Duration) *Key {
	if k == nil || now.Sub(k.fetched) >= within {
		return nil
	}
	return k.keys[kid]
}

// Key returns the key of a kid. For an unknown kid it asks the issuer, once in 10
// seconds, and waits for the answer until ctx ends. Concurrent calls share one fetch.
func (s *Set) Key(ctx context.Context, now time.Time, kid string) (*Key, error) {
	if key := s.known.Load().key(kid, now, fresh); key != nil {
		return key, nil
	}
	flight, err := s.begin(now)
	within := aged
	if err != nil {
		within = keep // the issuer has not answered lately
	}
	if key := s.known.Load().key(kid, now, within); key != nil {
		return key, nil
	}
	if flight != nil {
		select {
		case <-flight:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	s.mu.Lock()
	err = s.err
	s.mu.Unlock()
	switch key := s.known.Load().key(kid, now, keep); {
	case key != nil:
		return key, nil
	case err != nil:
		return nil, err
	case s.known.Load() == nil:
		return nil, errNeverFetched
	}
	return nil, ErrUnknown
}

// begin returns the fetch under way, or begins one if the pause has passed. It also
// returns the error of the latest fetch that has ended.
func (s *Set) begin(now time.Time) (flight <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.flight == nil && (s.began.IsZero() || now.Sub(s.began) >= pause) {
		s.began, s.flight = now, make(chan struct{})
		go s.fetch(now)
	}
	return s.flight, s.err
}

// fetch belongs to no request, so that none that gives up ends it for the others.
func (s *Set) fetch(now time.Time) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	found, err := s.get(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		found.fetched = now
		s.known.Store(found)
	}
	s.err = err
	close(s.flight)
	s.flight = nil
}

func (s *Set) get(ctx context.Context) (*known, error) {
	from, err := s.locate(ctx)
	if err != nil {
		return nil, err
	}
	old := s.known.Load()
	if old == nil || old.url != from {
		old = &known{url: from}
	}
	text, etag, err := s.read(ctx, from, old.etag)
	if err != nil {
		return nil, err
	}
	if text == "" {
		return &known{keys: old.keys, url: from, etag: old.etag}, nil
	}
	keys, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("the issuer's key set: %w", err)
	}
	return &known{keys: keys, url: from, etag: etag}, nil
}

// locate returns the URL of the set, by OpenID Connect Discovery 1.0 if it was not given.
func (s *Set) locate(ctx context.Context) (string, error) {
	if s.URL != "" {
		return s.URL, nil
	}
	text, _, err := s.read(ctx, strings.TrimSuffix(s.Issuer, "/")+"/.well-known/openid-configuration", "")
	if err != nil {
		return "", err
	}
	var issuer, from string
	r := strictjson.New(text, limits)
	for name := range r.Object {
		switch name {
		case "issuer":
			issuer = r.Text()
		case "jwks_uri":
			from = r.Text()
		default:
			r.Skip()
		}
	}
	if err := r.End(); err != nil {
		return "", fmt.Errorf("the issuer's OpenID configuration: %w", err)
	}
	if issuer != s.Issuer {
		return "", errors.New("the OpenID configuration is another issuer's")
	}
	return from, nil
}

// read gets a document. It follows no redirect: RoundTrip does not. The text is empty if
// the document still has the tag.
func (s *Set) read(ctx context.Context, from, tag string) (text, etag string, err error) {
	if !Fetchable(from, s.UnsafePlaintext) {
		return "", "", errors.New("the issuer's keys are not at an https URL")
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return "", "", err
	}
	r.Header.Set("Accept", "application/jwk-set+json, application/json")
	if tag != "" {
		r.Header.Set("If-None-Match", tag)
	}
	base := s.Base
	if base == nil {
		base = http.DefaultTransport
	}
	reply, err := base.RoundTrip(r)
	if err != nil {
		return "", "", err
	}
	defer reply.Body.Close()
	switch {
	case reply.StatusCode == http.StatusNotModified && tag != "":
		return "", tag, nil
	case reply.StatusCode != http.StatusOK:
		return "", "", fmt.Errorf("the issuer answered with status %d", reply.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(reply.Body, maxBody+1))
	switch {
	case err != nil:
		return "", "", err
	case len(body) > maxBody:
		return "", "", errors.New("the issuer's document has more than 256 KiB")
	case len(body) == 0:
		return "", "", errors.New("the issuer's document is empty")
	}
	return string(body), reply.Header.Get("ETag"), nil
}

// Fetchable reports whether keys may be fetched from a URL: over https, or, if plaintext
// is set, over http from a loopback host.
func Fetchable(from string, plaintext bool) bool {
	u, err := url.Parse(from)
	if err != nil || u.Hostname() == "" || u.User != nil || u.Fragment != "" {
		return false
	}
	if u.Scheme != "http" || !plaintext {
		return u.Scheme == "https"
	}
	addr, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && addr.IsLoopback()
}

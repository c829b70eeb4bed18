package jwks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenantkit/tenantkit/internal/baseurl"
	"github.com/tenantkit/tenantkit/internal/compact"
)

const (
	fresh   = 5 * time.Minute  // keys are used for so long without a question
	aged    = 10 * time.Minute // from then on a request waits for the answer
	keep    = 24 * time.Hour   // if the issuer does not answer, its last keys are used for so long
	pause   = 10 * time.Second // between the beginnings of two fetches
	timeout = 5 * time.Second  // of one fetch
	maxBody = 256 << 10        // of a set, and of a discovery document

	// patience is how long a request waits to learn whether a known key is still one. It is
	// less than the time that a Guard has for a whole authentication.
	patience = 200 * time.Millisecond
)

// ErrUnknown: the issuer has no such key. Any other error of Set.Key says nothing about
// the key.
var ErrUnknown = errors.New("the issuer has no usable key of this kid")

var errNotHTTPS = errors.New("the issuer's keys are not at an https URL")

// Set is the JWK set of one issuer. A dead issuer delays nobody but those who ask for
// its keys. A Set must not be changed once used. It is safe for concurrent use.
type Set struct {
	URL             string            // of the set; "": the one that the Issuer's OpenID configuration names
	Issuer          string            // must equal issuer in that configuration
	Base            http.RoundTripper // nil: http.DefaultTransport
	UnsafePlaintext bool              // allow http to a loopback host

	// Parse reads the document; nil: as a JWK set. With Parse, keys need only About.
	Parse func(text string) (map[string]*Key, error)

	known atomic.Pointer[known] // nil until the first success

	mu     sync.Mutex
	began  time.Time     // the latest fetch
	flight chan struct{} // closed at the end of the fetch under way; nil if there is none
	err    error         // of the fetch that ended last
}

// known is what the latest successful fetch returned.
type known struct {
	keys    map[string]*Key
	fetched time.Time // its beginning
}

func (k *known) key(kid string, now time.Time, within time.Duration) *Key {
	if k == nil || age(k.fetched, now) >= within {
		return nil
	}
	return k.keys[kid]
}

// age is positive also if the clock was set back. Otherwise keys would last until it has
// caught up.
func age(since, now time.Time) time.Duration { return now.Sub(since).Abs() }

// Key returns the key of a kid. For an unknown kid it asks the issuer, once in 10
// seconds, and waits for the answer until ctx ends. For a key that it has not asked about
// for long, it waits at most 200 ms. Concurrent calls share one fetch.
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
		var enough <-chan time.Time // nil: only the answer is
		if s.known.Load().key(kid, now, keep) != nil {
			enough = time.After(patience)
		}
		select {
		case <-flight:
		case <-enough:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if key := s.known.Load().key(kid, now, keep); key != nil {
		return key, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return nil, cmp.Or(s.err, ErrUnknown)
}

// begin returns the fetch under way, or begins one if the pause has passed. It also
// returns the error of the latest fetch that has ended.
func (s *Set) begin(now time.Time) (flight <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.flight == nil && (s.began.IsZero() || age(s.began, now) >= pause) {
		s.began, s.flight = now, make(chan struct{})
		go s.fetch(now)
	}
	return s.flight, s.err
}

// fetch belongs to no request, so that none that gives up ends it for the others.
func (s *Set) fetch(now time.Time) {
	err := errors.New("the fetch of the issuer's keys did not return")
	var keys map[string]*Key
	// Deferred, because a panic of Base must not end the program, nor runtime.Goexit the
	// fetches.
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic while the issuer's keys were fetched: %v", cause)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.err = err
		if err == nil { // with the end of the flight, so that nobody who sees these keys waits for it
			s.known.Store(&known{keys, now})
		}
		close(s.flight)
		s.flight = nil
	}()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	keys, err = s.get(ctx)
}

func (s *Set) get(ctx context.Context) (map[string]*Key, error) {
	from, err := s.locate(ctx)
	if err != nil {
		return nil, err
	}
	text, err := s.read(ctx, from)
	if err != nil {
		return nil, err
	}
	read := parse
	if s.Parse != nil {
		read = s.Parse
	}
	keys, err := read(text)
	if err != nil {
		return nil, fmt.Errorf("the issuer's key set: %w", err)
	}
	return keys, nil
}

// locate returns the URL of the set, by OpenID Connect Discovery 1.0 if it was not given.
func (s *Set) locate(ctx context.Context) (string, error) {
	if s.URL != "" {
		return s.URL, nil
	}
	text, err := s.read(ctx, strings.TrimSuffix(s.Issuer, "/")+"/.well-known/openid-configuration")
	if err != nil {
		return "", err
	}
	if compact.Text(compact.Member(text, "issuer")) != s.Issuer {
		return "", errors.New("the OpenID configuration is another issuer's")
	}
	from := compact.Text(compact.Member(text, "jwks_uri"))
	if !Fetchable(from, strings.HasPrefix(s.Issuer, "http:")) {
		return "", errNotHTTPS // nor may an issuer elsewhere name a loopback host
	}
	return from, nil
}

// read gets a document. It follows no redirect: RoundTrip does not.
func (s *Set) read(ctx context.Context, from string) (text string, err error) {
	if !Fetchable(from, s.UnsafePlaintext) {
		return "", errNotHTTPS
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return "", err
	}
	r.Header.Set("Accept", "application/jwk-set+json, application/json")
	reply, err := cmp.Or(s.Base, http.DefaultTransport).RoundTrip(r)
	if err != nil {
		return "", err
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the issuer answered with status %d", reply.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(reply.Body, maxBody+1))
	switch {
	case err != nil:
		return "", err
	case len(body) > maxBody:
		return "", errors.New("the issuer's document has more than 256 KiB")
	case len(body) == 0:
		return "", errors.New("the issuer's document is empty")
	}
	return string(body), nil
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
	return baseurl.IsLoopback(u.Hostname())
}

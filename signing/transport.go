package signing

import (
	"bytes"
	"cmp"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/internal/ascii"
	"github.com/tenantkit/tenantkit/internal/baseurl"
	"github.com/tenantkit/tenantkit/internal/clock"
	"github.com/tenantkit/tenantkit/internal/repeat"
	"github.com/tenantkit/tenantkit/internal/urlpath"
)

// Transport is an http.RoundTripper that signs every request it sends.
//
// A request outside BaseURL fails with ErrOutside and is not sent, also when a
// redirect leads there: credentials never leave the service. A request whose path or
// method no server would accept fails with ErrPath or ErrMethod: "get" is not GET.
//
// If a reply says that the signature was stale, Transport corrects its clock, signs
// the request again and sends it once more. If a reply says that the request was
// replayed, it does the same for GET and HEAD. Another method may have been executed
// the first time; see Repeat. Both need a body that can be read again (Request.GetBody).
//
// Requests that would have equal signatures get timestamps a millisecond apart, up to
// one second ahead of the clock. Beyond that, up to eight GET or HEAD requests share
// a millisecond, which a server with Policy.SingleUse refuses. Other requests wait,
// as long as their context allows: one path gets 1000 a second. All Transports of a
// process with one client key and one host share these limits.
//
// Processes that use one client key know nothing of each other. If two of them sign
// equal unsafe requests in one millisecond, the second is refused as replayed.
//
// The fields must not change while the Transport is in use. It is safe for concurrent
// use, and prints REDACTED.
type Transport struct {
	hidden

	// Clock learns the server's time and hands out timestamps. If nil, all Transports of
	// the process share one. Set it to share one although Now is set, and in tests whose
	// time is not that of the process, as in testing/synctest.
	Clock *Clock

	// BaseURL is the address of the service with its mount, such as
	// "https://api.example.com/acme/v2". Required.
	BaseURL string

	ClientKey string // required
	Secret    Secret // required, unless there is a Signer

	// Version is the version of the signatures: 1 or 2. 0 is 1, or 2 with a Signer.
	// Version 2 also covers the host, the query, the body and the account header.
	//
	// With version 2, RoundTrip reads the body twice to send its digest: from
	// Request.GetBody if that is set. Otherwise it holds the body in memory, and
	// returns ErrBodyTooLarge if that is longer than 1 MiB. It replaces the headers
	// Signature, Signature-Input and Content-Digest of the request. The query must be
	// visible ASCII.
	Version int

	// Signer is an Ed25519 key for version 2, such as an ed25519.PrivateKey.
	Signer crypto.Signer

	// Account is the account id to act as, if the credential may do so; "" is the
	// credential's own. An account header that the request already has takes
	// precedence.
	Account string

	// Header is the prefix of the header names; "" means "Service-".
	Header string

	// Repeat sends a POST or PATCH again whose answer was lost: after an error of Base, a 502, 503 or 504,
	// a 409 with Retry-After, and a refusal as replayed. There are at most four tries, some hundred
	// milliseconds apart, or what a Retry-After of up to ten seconds asks for. Each has its own nonce, and
	// all have one header Idempotency-Key: random, or what the request has. A request whose body cannot be
	// read again (Request.GetBody) is sent once, without a random key; version 2 holds short bodies itself.
	//
	// Set it only for a service that knows the header. Another one may execute the request each time.
	Repeat bool

	// Base sends the signed requests; http.DefaultTransport if nil.
	Base http.RoundTripper

	// Now is the local clock; time.Now if nil. A Transport with its own Now shares
	// nothing with others unless Clock is set. What it learns of a server is the
	// difference to one local clock.
	Now func() time.Time

	own Clock // used if Now is set and Clock is not
}

// ErrOutside is returned by Transport for a request outside its BaseURL.
var ErrOutside = errors.New("signing: request is outside the base URL")

// RoundTrip implements http.RoundTripper. Nothing is sent if it returns ErrOutside,
// ErrPath or ErrMethod, or an error for a field that is missing or malformed. The request's
// context may end while the request waits for a timestamp. Then it is not sent, or
// not sent again, and the error wraps the cause of the context. Errors of Base are
// returned unchanged.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	target, err := t.target(r)
	if err == nil && target.version == 2 {
		r, target.digest, err = digested(r)
	}
	if err != nil {
		closeBody(r)
		return nil, err
	}
	return repeat.Do(t.Repeat, r, func(r *http.Request) (*http.Response, bool, error) { return t.send(r, target) })
}

// send signs and sends r, and once more after some refusals. lost tells whether r may have been executed
// although there is an error or a refusal: http.Transport repeats a request with a key as it is after
// some losses, and that is a replay.
func (t *Transport) send(r *http.Request, target target) (res *http.Response, lost bool, err error) {
	if res, lost, err = t.attempt(r, target); err != nil {
		return nil, lost, err
	}
	reason := refusal(res)
	if reason == refusedStale {
		target.clock.refused(t.now())
	}
	if reason == refusedStale || reason == refusedReplayed && isSafe(methodOf(r)) {
		if again, ok := repeat.Again(r, res); ok {
			if res, lost, err = t.attempt(again, target); err != nil {
				return nil, lost, err
			}
			reason = refusal(res)
		}
	}
	return res, reason == refusedReplayed, nil
}

// target is what a request is signed for, the same for each attempt.
type target struct {
	clock   *hostClock
	version int
	command string // of version 1

	authority, path, digest string // of version 2
}

// target checks the fields of the Transport, and that r goes to its service.
func (t *Transport) target(r *http.Request) (target, error) {
	base, ok := baseurl.Parse(t.BaseURL)
	switch {
	case !ok || !clean(base.EscapedPath()):
		return target{}, errors.New("signing: Transport.BaseURL must be an http or https URL of host and path alone")
	case !ascii.IsClientKey(t.ClientKey):
		return target{}, errors.New("signing: Transport.ClientKey must be 1 to 128 visible ASCII characters")
	case t.version() == 2 && !ascii.Unquoted.Holds(t.ClientKey, 1, maxClientKey):
		return target{}, errors.New("signing: Transport.ClientKey must not have a quote or a backslash in version 2")
	case (t.Secret == "") == (t.Signer == nil):
		return target{}, errors.New("signing: Transport.Secret or Transport.Signer is missing, or both are there")
	case !t.versionFits():
		return target{}, errors.New("signing: Transport.Version must be 1 or 2, and 2 with a Signer, which must be of Ed25519")
	case !ascii.Visible.Holds(t.Account, 0, maxAccount):
		return target{}, errors.New("signing: Transport.Account must be at most 64 visible ASCII characters")
	case !baseurl.Has(base, r):
		return target{}, ErrOutside
	case !ascii.IsMethod(methodOf(r)):
		return target{}, ErrMethod
	}
	if t.Signer == nil {
		if err := checkMACKey(t.ClientKey, t.Secret); err != nil {
			return target{}, err
		}
	}
	path := r.URL.EscapedPath()
	if !clean(path) {
		return target{}, ErrPath
	}
	command, err := below(path, base.EscapedPath())
	switch {
	case errors.Is(err, errLong):
		return target{}, err
	case err != nil:
		return target{}, ErrOutside
	}
	authority := baseurl.Authority(base.Scheme, base.Host)
	return target{clock: t.clock(baseurl.Origin(base)), version: t.version(), command: command, authority: authority, path: path}, nil
}

// clean reports whether an escaped path is clean. A URL without a path stands for the
// root, as servers treat it.
func clean(escaped string) bool { return escaped == "" || urlpath.IsClean(escaped) }

// attempt sends a signed copy of r. A RoundTripper must not change the request it was
// given, and each attempt needs a nonce of its own. sent tells whether an error is that of Base.
func (t *Transport) attempt(r *http.Request, to target) (res *http.Response, sent bool, err error) {
	signed := r.Clone(r.Context())
	if err := t.sign(signed, to); err != nil {
		closeBody(r)
		return nil, false, err
	}
	at := t.now()
	res, err = cmp.Or(t.Base, http.DefaultTransport).RoundTrip(signed)
	if err != nil {
		return nil, true, err
	}
	to.clock.learn(res.Header, headersFor(t.Header).ServerTime, at, t.now())
	return res, true, nil
}

// sign sets the headers of a signature. It waits if the stream of requests has run
// ahead of the clock.
func (t *Transport) sign(r *http.Request, to target) error {
	if r.Header == nil {
		r.Header = make(http.Header)
	}
	names := headersFor(t.Header)
	if t.Account != "" && r.Header[names.Account] == nil {
		r.Header.Set(names.Account, t.Account)
	}
	method := methodOf(r)
	if to.version == 2 {
		return t.signV2(r, to, method)
	}
	sharing := isSafe(method) && r.Header[names.Account] == nil
	ms, wait := to.clock.take(stream{t.ClientKey, to.command, method}, sharing, t.now())
	if err := clock.Sleep(r.Context(), wait); err != nil {
		return fmt.Errorf("signing: waiting for a timestamp: %w", err)
	}
	timestamp := strconv.FormatInt(ms, 10)
	r.Header.Set(names.ClientKey, t.ClientKey)
	r.Header.Set(names.Timestamp, timestamp)
	r.Header.Set(names.Nonce, random(nonceLength))
	r.Header.Set(names.Signature, Sign(t.ClientKey, t.Secret, to.command, method, timestamp))
	return nil
}

// methodOf returns the method that net/http sends.
func methodOf(r *http.Request) string { return cmp.Or(r.Method, http.MethodGet) }

func (t *Transport) clock(origin string) *hostClock {
	own := &processClock
	if t.Now != nil {
		own = &t.own
	}
	return cmp.Or(t.Clock, own).host(origin)
}

func (t *Transport) now() time.Time { return clock.Now(t.Now) }

// closeBody closes the body of a request that was not sent, as a RoundTripper must.
func closeBody(r *http.Request) {
	if r.Body != nil {
		r.Body.Close()
	}
}

func (t *Transport) version() int {
	if t.Version == 0 && t.Signer != nil {
		return 2
	}
	return max(1, t.Version)
}

// versionFits reports whether Version is a version, and one of the key.
func (t *Transport) versionFits() bool {
	if t.Signer == nil {
		return 0 <= t.Version && t.Version <= 2
	}
	public, ok := t.Signer.Public().(ed25519.PublicKey)
	return ok && len(public) == ed25519.PublicKeySize && t.version() == 2
}

// signV2 sets the headers of a signature of version 2.
func (t *Transport) signV2(r *http.Request, to target, method string) error {
	names := headersFor(t.Header)
	if delete(r.Header, digestHeader); to.digest != "" {
		r.Header.Set(digestHeader, to.digest)
	}
	b := base{authority: to.authority, path: to.path}
	b.from(r, names)
	b.method = method
	alg, sign := algHMAC, func(text []byte) ([]byte, error) { return macOf(t.ClientKey, t.Secret, text), nil }
	if t.Signer != nil {
		alg, sign = algEd25519, func(text []byte) ([]byte, error) { return t.Signer.Sign(rand.Reader, text, crypto.Hash(0)) }
	}
	covered := names.required(to.digest != "", len(r.Header[names.Account]) > 0)
	b.input = "(" + strings.Join(covered, " ") + ");created=" + strconv.FormatInt(to.clock.seconds(t.now()), 10) +
		`;nonce="` + random(keyLength) + `";keyid="` + t.ClientKey + `";alg="` + alg + `";tag="` + names.Tag + `"`
	if err := b.check(); err != nil {
		return err
	}
	signature, err := sign(b.append(nil))
	if err != nil {
		return fmt.Errorf("signing: Transport.Signer: %w", err)
	}
	r.Header.Set(inputHeader, "sig="+b.input)
	r.Header.Set(signatureHeader, "sig=:"+base64.StdEncoding.EncodeToString(signature)+":")
	return nil
}

// digested returns r and the Content-Digest of its body, or "" if it has none. If the
// body cannot be read twice, digested returns a copy of r whose body can.
func digested(r *http.Request) (*http.Request, string, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return r, "", nil
	}
	if r.GetBody == nil {
		var err error
		if r, err = buffered(r); err != nil {
			return r, "", err
		}
	}
	body, err := r.GetBody()
	if err != nil {
		return r, "", err
	}
	defer body.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, body); err != nil {
		return r, "", err
	}
	return r, "sha-256=:" + base64.StdEncoding.EncodeToString(sum.Sum(nil)) + ":", nil
}

// buffered returns a copy of r with its body in memory.
func buffered(r *http.Request) (*http.Request, error) {
	defer r.Body.Close()
	data, err := io.ReadAll(io.LimitReader(r.Body, defaultMaxBody+1))
	switch {
	case err != nil:
		return r, err
	case len(data) > defaultMaxBody:
		return r, fmt.Errorf("%w: more than 1 MiB without a Request.GetBody", ErrBodyTooLarge)
	}
	r = r.WithContext(r.Context())
	r.ContentLength = int64(len(data))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
	r.Body, _ = r.GetBody()
	return r, nil
}

package signing

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/tenantkit/tenantkit/internal/ascii"
	"github.com/tenantkit/tenantkit/internal/clock"
)

// Verifier verifies signed requests. It is a small value: a server may build one for
// each request, with Keys and Admit bound to that request. Its fields must not change
// while it is in use. It is safe for concurrent use.
type Verifier struct {
	Keys    Keys    // required
	Replays Replays // required
	Policy  Policy

	// Header is the prefix of the header names; "" means "Service-".
	Header string

	// Now is the clock, time.Now if nil.
	Now func() time.Time

	// BaseURL is the external URL of the service, such as
	// "https://api.example.com/acme/v2". It must come from configuration, never from
	// a request. Version 2 covers its host, and its path with the path of the request
	// behind it. Without it, version 2 is refused.
	BaseURL string

	// Path is the escaped path that version 2 covers behind BaseURL, if a router has
	// changed that of the request. It must be clean; see Command. "" is the path of
	// the request.
	Path string

	// Admit, if not nil, checks the state of the credential: that it belongs to the
	// org of the URL, is valid now, and may come from this network. It is called
	// after the MAC has matched and before anything is recorded. Its error ends
	// Verify and is returned unchanged. An error that wraps ErrMismatch is answered
	// like a wrong signature.
	Admit func(ctx context.Context, r *http.Request, k *Key) error

	// AfterBody makes the context of Claim for a request of version 2, whose body comes as
	// fast as its client sends it. nil: the context of Verify.
	AfterBody func() (context.Context, context.CancelFunc)

	// Denied, if not nil, gets the error of each request that Handler rejects. It is for the
	// log; no client may see it.
	Denied func(r *http.Request, err error)
}

// Errors of Verify, beside ErrPath, ErrReplayed, ErrStale and ErrFull. An error that
// wraps none of them means that Keys, Admit or Replays failed. The request must then
// be refused, and may be signed and sent again.
var (
	// ErrNoSignature: the request has no signature, timestamp or nonce header. No
	// credential was presented.
	ErrNoSignature = errors.New("signing: no signature")

	// ErrMalformed: some signature headers are there and others are missing, or a
	// header has the wrong shape.
	ErrMalformed = errors.New("signing: malformed signature headers")

	// ErrAmbiguous: a header is there more than once, or there is an account header
	// without a signature. It wraps ErrMalformed.
	ErrAmbiguous = fmt.Errorf("%w: ambiguous", ErrMalformed)

	// ErrMethod: the method is not in upper case, or longer than 32 letters.
	ErrMethod = errors.New("signing: method is not in upper case")

	// ErrVersion: this version of signatures is not accepted, see Policy.Version and
	// BaseURL. Admit may return it for a key whose holder must use version 2.
	ErrVersion = errors.New("signing: version of the signature is not accepted")

	// ErrMismatch: the signature does not belong to this request and this key.
	ErrMismatch = errors.New("signing: signature does not match")
)

var (
	errIncomplete = errors.New("signing: Verifier needs Keys and Replays")
	errBaseURL    = errors.New("signing: Verifier.BaseURL must be an http or https URL of host and path alone")
	errNoKey      = errors.New("signing: Keys returned neither a key nor an error")
	errUnknown    = fmt.Errorf("%w: %w", ErrMismatch, ErrUnknownKey)
)

// Verify checks the signature of r, records the request, and returns the key that
// signed it; see Key.Ends. The command is what version 1 covers: what [Command]
// returns, or what the caller's router has cut from the same escaped path. Keys, Admit
// and Replays get ctx. The body of a request of version 2 is read first, however long
// that takes. It is then read again from r.Body. If it comes too late for Replays to
// know the request, the error is ErrStale.
//
// Verify checks in this order and stops at the first refusal: method, shape of the
// headers, length of the command, timestamp, key, MAC or signature, Admit, digest of
// the body, replay. If Replays is a UsedNonces, it refuses a known nonce before it reads
// a body of more than 16 KiB. A refusal leaves no trace. So its errors are, in this order:
//
//   - ErrMethod;
//   - ErrNoSignature, ErrAmbiguous, ErrMalformed, ErrVersion, or ErrDigest for a
//     malformed Content-Digest;
//   - ErrPath;
//   - ErrStale;
//   - ErrMismatch, which wraps ErrUnknownKey too if there is no such key;
//   - the error of Admit;
//   - ErrDigest or ErrBodyTooLarge;
//   - ErrReplayed, ErrStale or ErrFull.
//
// Verify computes one MAC for each live secret of the key, and one for an unknown
// key. It computes twice as many if the command has another spelling. A command has 2
// KiB at most. Version 2 has one spelling, of 32 KiB at most.
func (v *Verifier) Verify(ctx context.Context, r *http.Request, command string) (*Key, error) {
	var c credential
	key, err := v.check(ctx, r, command, &c)
	if err == nil && c.isV2 {
		err = v.checkBody(ctx, r, &c)
	}
	if err != nil {
		return nil, err
	}
	if c.isV2 && v.AfterBody != nil {
		var cancel context.CancelFunc
		ctx, cancel = v.AfterBody()
		defer cancel()
	}
	// Claimed last, so that a forged request costs no storage.
	if err := v.Replays.Claim(ctx, c.use); err != nil {
		return nil, err
	}
	return key, nil
}

// check checks all but the body and the replay.
func (v *Verifier) check(ctx context.Context, r *http.Request, command string, c *credential) (*Key, error) {
	if v.Keys == nil || v.Replays == nil {
		return nil, errIncomplete
	}
	if err := v.Policy.Validate(); err != nil {
		return nil, err
	}
	if !ascii.IsMethod(r.Method) {
		return nil, ErrMethod
	}
	c.command, c.method = command, r.Method
	if err := v.parse(r, c); err != nil {
		return nil, err
	}
	if len(command) > maxCommand {
		return nil, errLong
	}
	now := clock.Now(v.Now)
	if !v.Policy.covers(c.signed, now) || c.v2.expires != 0 && now.After(time.Unix(c.v2.expires, 0)) {
		return nil, ErrStale
	}
	v.complete(c, now)
	key, err := v.authenticate(ctx, c)
	if err != nil {
		return nil, err
	}
	if v.Admit != nil {
		if err := v.Admit(ctx, r, key); err != nil {
			return nil, err
		}
	}
	return key, nil
}

// parse reads the headers of the one version that the request has.
func (v *Verifier) parse(r *http.Request, c *credential) error {
	names := headersFor(v.Header)
	if found, err := v.parseV2(c, r, names); found || err != nil {
		return err
	}
	if err := c.parseV1(r.Header, &names.Headers); err != nil || v.Policy.Version != 2 {
		return err
	}
	return ErrVersion
}

// complete adds to a use the values of the clock and the policy.
func (v *Verifier) complete(c *credential, now time.Time) {
	c.use.Signed = time.UnixMilli(c.signed)
	c.use.Seen = now
	c.use.Keep = v.Policy.keep(c.signed)
	c.use.Window = siblingWindow
	if c.use.Siblings = 1; !c.isV2 {
		c.use.Siblings = v.Policy.siblings(c.method, c.account)
	}
}

// checkBody checks the body of a request of version 2. Version 1 does not cover it. The
// request then counts as seen when its body has arrived. A client decides how long that
// takes, and a store may have forgotten the first use of the nonce by then.
func (v *Verifier) checkBody(ctx context.Context, r *http.Request, c *credential) error {
	// A known nonce is refused before its body is read. A short body is not worth the look-up, and one
	// beyond the bound is not read.
	if store, ok := v.Replays.(UsedNonces); ok && r.Body != nil && !isShort(r) && r.ContentLength <= v.Policy.maxBody() {
		used, err := store.Used(ctx, c.use.ClientKey, c.use.Nonce)
		switch {
		case err != nil:
			return err
		case used:
			return ErrReplayed
		}
	}
	err := v.Policy.checkBody(r, &c.v2.digests)
	c.use.Seen = clock.Now(v.Now)
	return err
}

// authenticate finds the key and compares the MAC or the signature.
func (v *Verifier) authenticate(ctx context.Context, c *credential) (*Key, error) {
	key, err := v.Keys.Key(ctx, c.use.ClientKey)
	switch {
	case errors.Is(err, ErrUnknownKey):
		key = nobody()
	case err != nil:
		return nil, fmt.Errorf("signing: key look-up: %w", err)
	case key == nil:
		return nil, errNoKey
	}
	if !key.fits(c.isEd25519()) {
		// It costs as much as an unknown key. Otherwise the time taken would tell
		// which keys exist.
		nobody().verified(c)
		return nil, ErrMismatch
	}
	by := key.verified(c)
	switch {
	// This refuses the stand-in for unknown keys, and a key found by a look-up that
	// folds case. Such a key has many names, and under each a captured request
	// would count as new.
	case key.clientKey != c.use.ClientKey:
		return nil, errUnknown
	case by == nil, !by.ends.IsZero() && c.use.Seen.After(by.ends):
		return nil, ErrMismatch
	}
	return by, nil
}

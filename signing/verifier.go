package signing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Verifier verifies signed requests. It is a small value: a server may build one for
// each request, with Keys and Admit bound to that request. Its fields must not change
// while it is in use. It is safe for concurrent use.
type Verifier struct {
	Keys    Keys    // required
	Replays Replays // required
	Policy  Policy

	// Admit, if not nil, checks the state of the credential: that it belongs to the
	// org of the URL, is valid now, and may come from this network. It is called
	// after the MAC has matched and before anything is recorded. Its error ends
	// Verify and is returned unchanged. An error that wraps ErrMismatch is answered
	// like a wrong signature.
	Admit func(ctx context.Context, r *http.Request, k *Key) error

	// Deny writes the body of a refusal by Handler, and its Content-Type. If nil, the
	// body is the text of the status. The headers that a refusal needs are set
	// already, and the status is always that of the refusal. err is the error of
	// Verify. It is for the log; no client may see it.
	Deny func(w http.ResponseWriter, r *http.Request, err error)
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

	// ErrMismatch: the signature does not belong to this request and this key.
	ErrMismatch = errors.New("signing: signature does not match")
)

var (
	errIncomplete = errors.New("signing: Verifier needs Keys and Replays")
	errNoKey      = errors.New("signing: Keys returned neither a key nor an error")
	errUnknown    = fmt.Errorf("%w: %w", ErrMismatch, ErrUnknownKey)
)

// Verify checks the signature of r over its command, records the request, and returns
// the key that signed it; see Key.Ends. The command is what [Command] returns, or
// what the caller's router has cut from the same escaped path. Keys, Admit and
// Replays get ctx.
//
// Verify checks in this order and stops at the first refusal: method, shape of the
// headers, length of the command, timestamp, key, MAC, Admit, replay. A refusal
// leaves no trace. So its errors are, in this order:
//
//   - ErrMethod;
//   - ErrNoSignature, ErrAmbiguous or ErrMalformed;
//   - ErrPath;
//   - ErrStale;
//   - ErrMismatch, which wraps ErrUnknownKey too if there is no such key;
//   - the error of Admit;
//   - ErrReplayed, ErrStale or ErrFull.
//
// Verify computes one MAC for each live secret of the key, and one for an unknown
// key. It computes twice as many if the command has another spelling. A command has 2
// KiB at most.
func (v *Verifier) Verify(ctx context.Context, r *http.Request, command string) (*Key, error) {
	if v.Keys == nil || v.Replays == nil {
		return nil, errIncomplete
	}
	if !isMethod(r.Method) {
		return nil, ErrMethod
	}
	var c credential
	if err := c.parse(r.Header, headersFor(v.Policy.Header)); err != nil {
		return nil, err
	}
	if len(command) > maxCommand {
		return nil, errLong
	}
	now := v.Policy.now()
	if !v.Policy.covers(c.signed, now) {
		return nil, ErrStale
	}
	v.complete(&c, r.Method, now)
	key, err := v.authenticate(ctx, r, command, &c)
	if err != nil {
		return nil, err
	}
	if v.Admit != nil {
		if err := v.Admit(ctx, r, key); err != nil {
			return nil, err
		}
	}
	// Claimed last, so that a forged request costs no storage.
	if err := v.Replays.Claim(ctx, c.use); err != nil {
		return nil, err
	}
	return key, nil
}

// complete adds to a use the values of the clock and the policy.
func (v *Verifier) complete(c *credential, method string, now time.Time) {
	c.use.Signed = time.UnixMilli(c.signed)
	c.use.Seen = now
	c.use.Keep = v.Policy.keep(c.signed)
	c.use.Siblings = v.Policy.siblings(method, c.account)
	c.use.Window = cmp.Or(v.Policy.SiblingWindow, defaultSiblingWindow)
}

// authenticate finds the key and compares the MAC.
func (v *Verifier) authenticate(ctx context.Context, r *http.Request, command string, c *credential) (*Key, error) {
	key, err := v.Keys.Key(ctx, c.use.ClientKey)
	switch {
	case errors.Is(err, ErrUnknownKey):
		key = nobody()
	case err != nil:
		return nil, fmt.Errorf("signing: key look-up: %w", err)
	case key == nil:
		return nil, errNoKey
	}
	by := key.verified(&c.use.Signature, command, r.Method, c.timestamp)
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

// isMethod reports whether a method has only upper-case letters and hyphens. A
// lower-case method would be signed as another one. With a semicolon, a method could
// hold a part of the command.
func isMethod(method string) bool {
	if len(method) > maxMethod {
		return false
	}
	for i := range len(method) {
		if c := method[i]; (c < 'A' || c > 'Z') && c != '-' {
			return false
		}
	}
	return method != ""
}

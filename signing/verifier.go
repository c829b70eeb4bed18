package signing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Verifier verifies signed requests. It is a small value: a server may build one
// for each request, with Keys and Admit bound to that request. Its fields must
// not change while it is in use; it is safe for concurrent use.
type Verifier struct {
	Keys    Keys    // required
	Replays Replays // required
	Policy  Policy

	// Admit, if not nil, judges the state of the credential: whether it belongs
	// to the org of the URL, is valid now, may come from this network.
	// It is called after the MAC has matched and before anything is recorded. Its
	// error ends Verify and is returned as it is; an error that wraps ErrMismatch
	// is answered like a wrong signature.
	Admit func(ctx context.Context, r *http.Request, k *Key) error

	// Deny writes the body of what Handler refuses, and its Content-Type; nil: the
	// text of the status. The headers that a refusal needs are set already, and no
	// other status than that of the refusal is sent. err is what Verify returned: it
	// is for the log, and no client may see it.
	Deny func(w http.ResponseWriter, r *http.Request, err error)
}

// What Verify returns, beside ErrPath, ErrReplayed, ErrStale and ErrFull. An error that
// wraps none of them means that Keys, Admit or Replays failed; the request must
// be refused, and may be signed and sent again.
var (
	// ErrNoSignature: no header of a signature is there. Nothing was presented.
	ErrNoSignature = errors.New("signing: no signature")

	// ErrMalformed: a header is missing while another is there, or has not the
	// shape it must have.
	ErrMalformed = errors.New("signing: malformed signature headers")

	// ErrAmbiguous: a header is there more than once, or an account header
	// without a signature. It wraps ErrMalformed.
	ErrAmbiguous = fmt.Errorf("%w: ambiguous", ErrMalformed)

	// ErrMethod: the method is not in upper case, or longer than 32 letters.
	ErrMethod = errors.New("signing: method is not in upper case")

	// ErrMismatch: the signature is not that of this request under this key.
	ErrMismatch = errors.New("signing: signature does not match")
)

var (
	errIncomplete = errors.New("signing: Verifier needs Keys and Replays")
	errNoKey      = errors.New("signing: Keys returned neither a key nor an error")
	errUnknown    = fmt.Errorf("%w: %w", ErrMismatch, ErrUnknownKey)
)

// Verify decides whether r is signed as its command demands, records it, and
// returns the key that signed it, see Key.Ends. The command is what [Command]
// returns, or what the caller's router has cut from the same escaped path. Keys,
// Admit and Replays get ctx.
//
// It works in this order and stops at the first refusal: method, shape of the
// headers, length of the command, timestamp, key, MAC, Admit, replay. A refusal
// leaves no trace. So its errors are, in this order: ErrMethod; ErrNoSignature,
// ErrAmbiguous or ErrMalformed; ErrPath; ErrStale; ErrMismatch, which wraps
// ErrUnknownKey too if there is no such key; that of Admit; ErrReplayed, ErrStale
// or ErrFull.
//
// It computes one MAC for each live secret of the key, one for an unknown key, and
// twice as many where the command has another spelling, over 2 KiB at most.
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

// complete adds to a use what the clock and the policy say.
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
	// Not only nobody: a look-up that folds case finds a key under many names, and
	// under each of them a captured request would count as new.
	case key.clientKey != c.use.ClientKey:
		return nil, errUnknown
	case by == nil, !by.ends.IsZero() && c.use.Seen.After(by.ends):
		return nil, ErrMismatch
	}
	return by, nil
}

// isMethod refuses lower case, which would be signed as another method, and the
// semicolon, which would let a method hold a part of the command.
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

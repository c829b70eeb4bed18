package issuer

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/admission"
	"github.com/tenantkit/tenantkit/internal/jwks"
)

// Issuer is somebody else whose tokens one org accepts: an identity provider, a cluster, or an
// older service. It must not be changed once it is in use.
//
// Exactly one of Keys, JWKS and Discover says where its keys are. A key that is fetched is used
// for 5 minutes without a question, and for 24 hours if the issuer does not answer. A token with
// an unknown kid asks the issuer again, once in 10 seconds. Sets have at most 256 KiB and 64 keys,
// redirects are not followed, and a fetch ends after 5 seconds. A request waits for it until the
// Guard's Timeout, and with a key that is known for 200 ms. A key is not used if its private part
// is in the set, or if another key of the set has the same kid.
type Issuer struct {
	Org      auth.OrgKey // Org.Key of the only org that accepts its tokens; required
	URL      string      // iss of its tokens, compared byte by byte; required
	Audience string      // must be the aud of its tokens, or one of them; required

	// Map says whom a token stands for. It is called with every request, after all other
	// checks of the token. It must read only what it trusts the issuer to say, and should be
	// fast. An error that wraps auth.ErrNotFound or auth.ErrForbidden refuses the token like
	// one that is not valid. An *auth.Error is answered as it is. Any other error counts as a
	// failure of a store. Required.
	Map func(ctx context.Context, t *auth.Tenant, f *Foreign) (Identity, error)

	JWKS     string                      // URL of the JWK set, https
	Discover bool                        // URL has an OpenID configuration, which names the set; it must state exactly this URL
	Keys     map[string]crypto.PublicKey // by kid; the kid "" is that of tokens without one

	// Algorithms are those that are accepted, of RS256, ES256 and EdDSA; nil: these three. The
	// type of a key must fit, too.
	Algorithms []string

	// Until is when all tokens of the issuer end, for one that is being replaced; zero: never.
	Until time.Time

	// Base sends the requests for keys, for instance with the CA and the credential that a
	// cluster asks for; nil: http.DefaultTransport. With Discover the host of the set is the
	// issuer's choice, also one inside of the server's network. A credential must go to known
	// hosts only. If the issuer is not trusted with that choice, use JWKS, or a Base that
	// rejects inner addresses. A panic of Base counts as a
	// failure to answer.
	Base http.RoundTripper

	// UnsafePlaintext also fetches keys over http, from a loopback host only. With Discover,
	// URL must be such a host, too.
	UnsafePlaintext bool
}

// Identity is whom a token of another issuer stands for in its org, and what it may do. It also
// bounds what the token may make: see auth.Principal.MayMake. The zero Identity refuses the token.
type Identity struct {
	Account string // id of an account of the org; required

	// App is the client key of the app that it acts through. The app must be enabled. A token
	// without an app mints no tokens. With one it mints tokens of at most 15 minutes.
	App string

	// Scope holds scope chains, as the claim of an own token does. Nil and empty grant
	// nothing. With auth.Guard.Ceiling, one that is not nil limits what the roles add.
	Scope []string

	Roles       []string // added to those of the account; each must exist in the org
	auth.Access          // as in an own token
}

func (i *Issuer) validate() error {
	if i == nil {
		return errors.New("issuer: Mechanism.Issuers holds a nil one")
	}
	sources := 0
	for _, given := range []bool{i.Keys != nil, i.JWKS != "", i.Discover} {
		if given {
			sources++
		}
	}
	unknown := func(name string) bool { return !slices.Contains(jwks.Algorithms, name) }
	switch {
	case i.Org == "" || i.URL == "" || i.Audience == "" || i.Map == nil:
		return errors.New("issuer: Issuer.Org, URL, Audience and Map are required")
	case sources != 1:
		return errors.New("issuer: an Issuer needs exactly one of Keys, JWKS and Discover")
	case i.JWKS != "" && !jwks.Fetchable(i.JWKS, i.UnsafePlaintext):
		return errors.New("issuer: Issuer.JWKS must be an https URL")
	case i.Discover && (!jwks.Fetchable(i.URL, i.UnsafePlaintext) || strings.Contains(i.URL, "?")):
		return errors.New("issuer: Issuer.URL must be an https URL for Discover")
	case slices.ContainsFunc(i.Algorithms, unknown) || i.Algorithms != nil && len(i.Algorithms) == 0:
		return errors.New("issuer: Issuer.Algorithms are of RS256, ES256 and EdDSA")
	}
	return nil
}

// boundIssuer is an Issuer with its keys.
type boundIssuer struct {
	*Issuer
	source string // of its chains
	find   func(ctx context.Context, now time.Time, kid string) (*jwks.Key, error)
}

func (i *Issuer) bind() (*boundIssuer, error) {
	if err := i.validate(); err != nil {
		return nil, err
	}
	b := &boundIssuer{Issuer: i, source: "issuer " + i.URL}
	if i.Keys == nil {
		b.find = (&jwks.Set{URL: i.JWKS, Issuer: i.URL, Base: i.Base, UnsafePlaintext: i.UnsafePlaintext}).Key
		return b, nil
	}
	static := map[string]*jwks.Key{}
	b.find = func(_ context.Context, _ time.Time, kid string) (*jwks.Key, error) { return static[kid], nil }
	for kid, public := range i.Keys {
		key, err := jwks.NewKey(public)
		if err != nil {
			return nil, fmt.Errorf("issuer: Issuer.Keys[%q]: %w", kid, err)
		}
		static[kid] = key
	}
	return b, nil
}

// key returns the key of a kid, if the issuer may sign with it.
func (b *boundIssuer) key(ctx context.Context, now time.Time, kid string) (*jwks.Key, error) {
	key, err := b.find(ctx, now, kid)
	switch {
	case err != nil && !errors.Is(err, jwks.ErrUnknown):
		return nil, auth.Unavailable(fmt.Errorf("issuer: keys of another issuer: %w", err))
	case key == nil:
		return nil, refused(jwks.ErrUnknown)
	case b.Algorithms != nil && !slices.Contains(b.Algorithms, key.Algorithm):
		return nil, refused(errAlgorithm)
	}
	return key, nil
}

// grant asks Map, and refuses what names nobody.
func (b *boundIssuer) grant(ctx context.Context, t *auth.Tenant, f *Foreign) (Identity, error) {
	grant, err := b.Map(ctx, t, f)
	if e, ok := errors.AsType[*auth.Error](err); ok {
		return Identity{}, e
	}
	switch {
	case err == nil && grant.Account != "":
		return grant, nil
	case err == nil:
		return Identity{}, refused(errors.New("no account is named by Map"))
	case errors.Is(err, auth.ErrForbidden) && !errors.Is(err, auth.ErrUnavailable):
		return Identity{}, refused(err)
	}
	return Identity{}, admission.Refuse(err)
}

func refused(reason error) error { return fmt.Errorf("%w: %w", admission.ErrRefused, reason) }

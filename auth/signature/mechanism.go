package signature

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/listing"
	"github.com/tenantkit/tenantkit/signing"
)

// Name is the name of the mechanism in principals and in auth.Need.By.
const Name = "signature"

// Mechanism authenticates signed requests. Its fields must not be changed once it is in use. Its
// methods are safe for concurrent use.
type Mechanism struct {
	Credentials Credentials     // required
	Replays     signing.Replays // required; shared by all instances of a server

	// Policy limits versions, time and replays; the zero Policy is the recommended one, and takes
	// both versions.
	Policy signing.Policy
}

// Name implements auth.Mechanism.
func (m *Mechanism) Name() string { return Name }

// Bind implements auth.Mechanism. A Mechanism may serve several Guards.
func (m *Mechanism) Bind(*auth.Settings) error {
	var missing error
	if m.Credentials == nil || m.Replays == nil {
		missing = errors.New("signature: Mechanism.Credentials and Mechanism.Replays are required")
	}
	return errors.Join(missing, m.Policy.Validate())
}

// Presented implements auth.Mechanism. The client key alone is no credential, because clients
// also send it with tokens. The account header counts as a credential. So without a signature it
// is refused, not ignored. Outside a Guard the headers have the prefix "Service-".
func (m *Mechanism) Presented(r *http.Request) auth.Presence {
	prefix := ""
	if t := auth.TenantFrom(r.Context()); t != nil {
		prefix = t.Settings().Brand.Header
	}
	names := signing.HeadersFor(prefix)
	if names.Version(r.Header) != 0 || len(r.Header[names.Account]) > 0 {
		return auth.InHeader
	}
	return auth.Absent
}

// Authenticate implements auth.Mechanism. It claims nonce and signature last.
//
// Details of its errors are auth.DetailAmbiguous, DetailMalformedSignature, DetailMethod,
// DetailPath, DetailStaleSignature, DetailInvalidSignature, DetailContentDigest,
// DetailBodyTooLarge, DetailReplayed, DetailStoreFull, and DetailPrincipal for a refused account
// header. Any other error wraps auth.ErrUnavailable.
//
// It reads the body of a request of version 2, and puts it back for the handler.
func (m *Mechanism) Authenticate(ctx context.Context, r *http.Request, t *auth.Tenant) (auth.Principal, error) {
	a := attempt{mechanism: m, tenant: t}
	settings := t.Settings()
	v := signing.Verifier{Keys: &a, Replays: m.Replays, Policy: m.Policy, Admit: a.admit, Header: settings.Brand.Header, Now: settings.Now}
	if m.Policy.Version != 1 && r.Header["Signature-Input"] != nil {
		v.BaseURL, v.Path = t.BaseURL(), t.Path()
		if r.Body != nil && r.Body != http.NoBody {
			v.AfterBody = func() (context.Context, context.CancelFunc) { return t.Bound(r.Context()) }
		}
	}
	key, err := v.Verify(ctx, r, t.Command)
	if err != nil || a.overrideErr != nil {
		names := signing.HeadersFor(settings.Brand.Header)
		t.Claim(auth.Claimed{App: claimedKey(r.Header, names), Account: r.Header.Get(names.Account)})
	}
	switch {
	case err != nil:
		return auth.Principal{}, fault(err)
	case a.overrideErr != nil:
		// Only after the claim: otherwise a captured request could be sent again and again with
		// other account headers, to learn which accounts exist.
		return auth.Principal{}, &auth.Error{Detail: auth.DetailPrincipal, Err: a.overrideErr}
	}
	p := a.principal(key)
	if store := a.due(); store != nil {
		return a.seenBy(store, p), nil
	}
	return p, nil
}

// readmitted is for how long after its timestamp a signature keeps a request open.
const readmitted = time.Hour

// Readmit implements auth.Readmitter. It verifies the signature by the current secrets.
func (m *Mechanism) Readmit(ctx context.Context, r *http.Request, t *auth.Tenant) (auth.Principal, error) {
	again := *m
	again.Replays, again.Policy.Tolerance = unclaimed{}, max(readmitted, m.Policy.Tolerance)
	return again.Authenticate(ctx, r, t)
}

// unclaimed accepts a signature again. Only a request that was admitted gets to it.
type unclaimed struct{}

func (unclaimed) Claim(context.Context, signing.Use) error { return nil }

// claimedKey returns the client key that a rejected request names, for events only.
func claimedKey(h http.Header, names signing.Headers) string {
	_, input, second := strings.Cut(h.Get("Signature-Input"), `keyid="`)
	if !second {
		return h.Get(names.ClientKey)
	}
	key, _, _ := strings.Cut(input, `"`)
	return key
}

// Challenge implements auth.Mechanism.
func (m *Mechanism) Challenge(_ *auth.Tenant, err error) string {
	if e, ok := errors.AsType[*auth.Error](err); ok && e.Detail == auth.DetailScope {
		return ""
	}
	return m.Policy.Challenge(err)
}

// details is in order of precedence: the first row that matches decides.
var details = []struct {
	err    error
	detail string
}{
	{signing.ErrMethod, auth.DetailMethod},
	{signing.ErrDigest, auth.DetailContentDigest},
	{signing.ErrBodyTooLarge, auth.DetailBodyTooLarge},
	{signing.ErrPath, auth.DetailPath},
	{signing.ErrAmbiguous, auth.DetailAmbiguous},
	{signing.ErrMalformed, auth.DetailMalformedSignature},
	{signing.ErrNoSignature, auth.DetailMalformedSignature},
	{signing.ErrStale, auth.DetailStaleSignature},
	{signing.ErrMismatch, auth.DetailInvalidSignature},
	{signing.ErrUnknownKey, auth.DetailInvalidSignature},
	{signing.ErrVersion, auth.DetailInvalidSignature},
	{errRefused, auth.DetailInvalidSignature},
	{signing.ErrReplayed, auth.DetailReplayed},
	{signing.ErrFull, auth.DetailStoreFull},
}

// fault returns the *auth.Error for an error of package signing.
func fault(err error) error {
	if errors.Is(err, auth.ErrUnavailable) {
		return err // first: see auth.IsNotFound
	}
	for _, d := range details {
		if errors.Is(err, d.err) {
			return &auth.Error{Detail: d.detail, Err: err}
		}
	}
	return auth.Unavailable(err)
}

// Schemes implements openapi.Describer. They are the versions that the Policy accepts.
func (m *Mechanism) Schemes(s *auth.Settings) []listing.Scheme {
	names, client := signing.HeadersFor(s.Brand.Header), s.Brand.Header+"Client-"
	all := []listing.Scheme{{
		Headers: []string{client + "Key", client + "Timestamp", client + "Nonce", client + "Signature"},
		Description: "One of the four headers of a request that is signed by version 1. The timestamp is Unix " +
			"milliseconds. The nonce is 16 random letters or digits, new for each request. The signature is the " +
			"HMAC-SHA256, in lower-case hexadecimal digits, of `<command>;<METHOD>;<timestamp>`. Its key is the client " +
			"key followed by the client secret. The command is the escaped path below org and version, without the " +
			"query. The optional header `" + client + "Account` names the account to act as.",
	}, {
		Headers: []string{"Signature-Input", "Signature"},
		Description: "One of the two headers of a request that is signed by version 2, an HTTP Message Signature (RFC " +
			"9421). It covers `@method`, `@authority`, `@path` and `@query`, `content-digest` (RFC 9530) if there is a " +
			"body, and the header `" + names.Account + "` if there is one. Its parameters are `created`, `nonce` (16 to 128 " +
			"characters, new for each request), `keyid` (the client key), `alg` (`hmac-sha256`, whose key is the client key " +
			"followed by the client secret, or `ed25519`) and `tag` (`" + names.Tag + "`).",
	}}
	if v := m.Policy.Version; v != 0 {
		return all[v-1 : v]
	}
	return all
}

package bearer

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/whole"
	"github.com/tenantkit/tenantkit/token"
)

// Certs returns the handlers of the two endpoints that publish the public keys of an org's
// exposed apps (section 4 of the interface). The document of jwk is both a list and a JWK set
// (RFC 7517); pem serves PEM. Register them for GET on Public routes of a Guard. Both have a
// strong ETag, answer 304, and may be cached for 5 minutes. If the store does not answer within
// the Guard's Timeout, the answer is 503, never an empty set.
func Certs(keys token.Exposed) (jwk, pem http.Handler) {
	return certs(keys, "application/jwk-set+json", token.JWKSet), certs(keys, "application/x-pem-file", pemFile)
}

// pemFile is token.PEM, but has a line of text if there is no key, so that no reply is empty.
// Readers of PEM ignore text outside of its blocks.
func pemFile(keys []token.PublicKey) []byte {
	if text := token.PEM(keys); len(text) > 0 {
		return text
	}
	return []byte("# no keys\n")
}

func certs(keys token.Exposed, contentType string, encode func([]token.PublicKey) []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t := auth.TenantFrom(r.Context())
		if t == nil {
			auth.Fail(w, r, errors.New("bearer: the request did not come through a Guard's Mount"))
			return
		}
		ctx, cancel := t.Bound(r.Context())
		defer cancel()
		exposed, err := keys.Exposed(ctx, t.Org.Key())
		if err != nil {
			auth.Fail(w, r, auth.Unavailable(fmt.Errorf("exposed keys: %w", err)))
			return
		}
		body := encode(exposed)
		whole.Serve(w, r, contentType, whole.Tag(body), body)
	})
}

package signature

import (
	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/signing"
)

// Scheme implements auth.Describer.
func (m *Mechanism) Scheme(s *auth.Settings) auth.Scheme {
	client := s.Brand.Header + "Client-"
	if m.Policy.Version == 2 {
		return auth.Scheme{Mechanism: Name, Headers: []string{"Signature-Input", "Signature"}, Description: secondScheme(s)}
	}
	more := ""
	if m.Policy.Version == 0 {
		more = " Instead of the four headers, a request may have `Signature-Input` and `Signature`. " + secondScheme(s)
	}
	return auth.Scheme{
		Mechanism: Name,
		Headers:   []string{client + "Key", client + "Timestamp", client + "Nonce", client + "Signature"},
		Description: "One of the four headers of a signed request. The timestamp is Unix milliseconds. The nonce is " +
			"16 random letters or digits, new for each request. The signature is the HMAC-SHA256, in lower-case " +
			"hexadecimal digits, of `<command>;<METHOD>;<timestamp>`. Its key is the client key followed by the client " +
			"secret. The command is the escaped path below org and version, without the query. The optional header `" +
			client + "Account` names the account to act as." + more,
	}
}

// secondScheme describes version 2.
func secondScheme(s *auth.Settings) string {
	return "A signature of version 2 is an HTTP Message Signature (RFC 9421) with the tag `" + signing.HeadersFor(s.Brand.Header).Tag +
		"`. It covers `@method`, `@authority`, `@path` and `@query`, a `Content-Digest` if there is a body, and the account header if " +
		"it is there. Its parameters are `created`, `nonce`, `keyid` (the client key), `alg` (`hmac-sha256` or `ed25519`) and `tag`."
}

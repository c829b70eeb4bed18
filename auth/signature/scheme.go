package signature

import "github.com/tenantkit/tenantkit/auth"

// Scheme implements auth.Describer.
func (m *Mechanism) Scheme(s *auth.Settings) auth.Scheme {
	client := s.Brand.Header + "Client-"
	return auth.Scheme{
		Mechanism: Name,
		Headers:   []string{client + "Key", client + "Timestamp", client + "Nonce", client + "Signature"},
		Description: "One of the four headers of a signed request. The timestamp is Unix milliseconds. The nonce is " +
			"16 random letters or digits, new for each request. The signature is the HMAC-SHA256, in lower-case " +
			"hexadecimal digits, of `<command>;<METHOD>;<timestamp>`. Its key is the client key followed by the client " +
			"secret. The command is the escaped path below org and version, without the query. The optional header `" +
			client + "Account` names the account to act as.",
	}
}

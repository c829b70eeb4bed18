package signature

import (
	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/listing"
	"github.com/tenantkit/tenantkit/signing"
)

// Schemes implements openapi.Describer. They are the versions that the Policy accepts.
func (m *Mechanism) Schemes(s *auth.Settings) []listing.Scheme {
	all := []listing.Scheme{v1Scheme(s.Brand.Header), v2Scheme(s.Brand.Header)}
	if v := m.Policy.Version; v != 0 {
		return all[v-1 : v]
	}
	return all
}

func v1Scheme(prefix string) listing.Scheme {
	client := prefix + "Client-"
	return listing.Scheme{
		Headers: []string{client + "Key", client + "Timestamp", client + "Nonce", client + "Signature"},
		Description: "One of the four headers of a request that is signed by version 1. The timestamp is Unix " +
			"milliseconds. The nonce is 16 random letters or digits, new for each request. The signature is the " +
			"HMAC-SHA256, in lower-case hexadecimal digits, of `<command>;<METHOD>;<timestamp>`. Its key is the client " +
			"key followed by the client secret. The command is the escaped path below org and version, without the " +
			"query. The optional header `" + client + "Account` names the account to act as.",
	}
}

func v2Scheme(prefix string) listing.Scheme {
	names := signing.HeadersFor(prefix)
	return listing.Scheme{
		Headers: []string{"Signature-Input", "Signature"},
		Description: "One of the two headers of a request that is signed by version 2, an HTTP Message Signature (RFC " +
			"9421). It covers `@method`, `@authority`, `@path` and `@query`, `content-digest` (RFC 9530) if there is a " +
			"body, and the header `" + names.Account + "` if there is one. Its parameters are `created`, `nonce` (16 to 128 " +
			"characters, new for each request), `keyid` (the client key), `alg` (`hmac-sha256`, whose key is the client key " +
			"followed by the client secret, or `ed25519`) and `tag` (`" + names.Tag + "`).",
	}
}

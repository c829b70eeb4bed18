package token

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"math/big"
)

// jwk is an RSA public key in the form of RFC 7517 and RFC 7518 section 6.3.1. It has
// no field for a private member.
type jwk struct {
	KeyType   string `json:"kty"`
	Use       string `json:"use"`
	Algorithm string `json:"alg"`
	KeyID     string `json:"kid"`
	Modulus   string `json:"n"`
	Exponent  string `json:"e"`
}

// jwkItem is a jwk as an item of a list.
type jwkItem struct {
	ID     string `json:"_id"`
	Object string `json:"object"`
	jwk
}

// jwkSet is a list envelope and an RFC 7517 set in one document.
type jwkSet struct {
	Object  string    `json:"object"`
	Data    []jwkItem `json:"data"`
	HasMore bool      `json:"hasMore"`
	Keys    []jwk     `json:"keys"`
}

// JWKSet writes public keys as one JSON document. It is both a list of section 2.1 of
// the interface and a set of RFC 7517:
//
//	{"object":"list","data":[…],"hasMore":false,"keys":[…]}
//
// An item of data is the JWK with two more members: _id, which is its kid, and
// object, which is "jwk". Keys that are not valid are left out.
func JWKSet(keys []PublicKey) []byte {
	set := jwkSet{Object: "list", Data: []jwkItem{}, Keys: []jwk{}}
	for _, k := range keys {
		if k.check() != nil {
			continue
		}
		bare := jwk{
			KeyType: "RSA", Use: "sig", Algorithm: algorithm, KeyID: k.KeyID,
			Modulus: encode(k.Key.N.Bytes()), Exponent: encode(big.NewInt(int64(k.Key.E)).Bytes()),
		}
		set.Data = append(set.Data, jwkItem{k.KeyID, "jwk", bare})
		set.Keys = append(set.Keys, bare)
	}
	text, _ := json.Marshal(set) // strings and a boolean always marshal
	return text
}

// PEM writes public keys as blocks of type PUBLIC KEY (PKIX). Two lines above each
// block name its owner:
//
//	# app: <client key>
//	# kid: <key id>
//
// Keys that are not valid are left out, so that no client key can add a line of its
// own.
func PEM(keys []PublicKey) []byte {
	var text bytes.Buffer
	for _, k := range keys {
		if k.check() != nil {
			continue
		}
		der, err := x509.MarshalPKIXPublicKey(k.Key)
		if err != nil {
			continue
		}
		text.WriteString("# app: " + k.ClientKey + "\n# kid: " + k.KeyID + "\n")
		pem.Encode(&text, &pem.Block{Type: "PUBLIC KEY", Bytes: der})
	}
	return text.Bytes()
}

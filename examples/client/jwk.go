package main

import (
	"crypto/rsa"
	"encoding/base64"
	"math/big"

	"github.com/tenantkit/tenantkit/token"
)

// jwk is a public key in the format of RFC 7517.
type jwk struct {
	Type     string `json:"kty"`
	Use      string `json:"use"`
	KeyID    string `json:"kid"`
	Modulus  string `json:"n"`
	Exponent string `json:"e"`
}

// public returns the key, and reports whether it is an RSA key for signatures.
// token.PublicKey.Validate decides whether the key is strong enough.
func (k jwk) public() (*token.PublicKey, bool) {
	n, err := base64.RawURLEncoding.DecodeString(k.Modulus)
	if err != nil {
		return nil, false
	}
	e, err := base64.RawURLEncoding.DecodeString(k.Exponent)
	if err != nil || len(e) > 4 || k.Type != "RSA" || k.Use != "" && k.Use != "sig" {
		return nil, false
	}
	return &token.PublicKey{
		KeyID: k.KeyID,
		Key:   &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(new(big.Int).SetBytes(e).Int64())},
	}, true
}

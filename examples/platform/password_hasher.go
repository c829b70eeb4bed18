package main

import "github.com/alexedwards/argon2id"

// argon2 is the platform's session.Hasher. It uses argon2id with the first
// parameters in OWASP's cheat sheet on password storage.
type argon2 struct{}

var argon2Params = argon2id.Params{
	Memory:      19 * 1024, // KiB
	Iterations:  2,
	Parallelism: 1,
	SaltLength:  16,
	KeyLength:   32,
}

func (argon2) Hash(password string) (string, error) {
	return argon2id.CreateHash(password, &argon2Params)
}

func (argon2) Verify(encoded, password string) (ok, rehash bool) {
	// The parameters in encoded are not limited again: this server has written
	// them.
	ok, params, err := argon2id.CheckHash(password, encoded)
	if err != nil || !ok {
		return false, false
	}
	return true, *params != argon2Params
}

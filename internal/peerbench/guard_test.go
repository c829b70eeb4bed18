package main

import (
	"net/http"
	"testing"
)

func TestGuard(t *testing.T)      { check(t, "Guard", guards(t)) }
func BenchmarkGuard(b *testing.B) { race(b, guards(b)) }

// reached is the handler at the end of a chain.
type reached struct {
	account func(*http.Request) string
	times   int
}

func (h *reached) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	if h.account(r) == subject {
		h.times++
	}
}

// discard is a ResponseWriter whose header is used again.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

func guards(t testing.TB) (contenders []contender) {
	for _, k := range chainKinds(chainKind{"context value", accountInContext, floorChain}, signedBefore) {
		end := &reached{account: k.account}
		c := k.build(t, end)
		contenders = append(contenders, c.contender(k.name, c.again, func(h http.Handler) func(http.Header) error {
			r, w := c.request.Clone(c.request.Context()), discard{http.Header{}}
			return func(header http.Header) error {
				before := end.times
				r.Header = header
				if h.ServeHTTP(w, r); end.times == before {
					return errRefused
				}
				return nil
			}
		}))
	}
	return contenders
}

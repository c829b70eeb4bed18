package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
)

// connections is how many connections to a server are open at the same time.
const connections = 8

func TestLoopback(t *testing.T) { check(t, "Loopback", loopbacks(t)) }

// BenchmarkLoopback keeps all connections busy.
func BenchmarkLoopback(b *testing.B) {
	for _, c := range thereAndBack(loopbacks(b)) {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetParallelism(max(1, connections/runtime.GOMAXPROCS(0)))
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := c.good(); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

// loopbacks returns peers that each have their own server, and share one client.
func loopbacks(t testing.TB) (contenders []contender) {
	transport := &http.Transport{MaxConnsPerHost: connections, MaxIdleConnsPerHost: connections, DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	anyone := func(*http.Request) string { return subject }
	kinds := append(chainKinds(chainKind{"plain handler", anyone, plainChain}, signedNow),
		chainKind{"plain handler with the token", anyone, unguarded(bearerChain)},
		chainKind{"plain handler with the signature", anyone, unguarded(signedNow)})
	for _, k := range kinds {
		c := k.build(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if k.account(r) != subject {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			io.WriteString(w, "ok")
		}))
		contenders = append(contenders, c.contender(k.name, c.another, func(h http.Handler) func(http.Header) error {
			server := httptest.NewServer(h)
			t.Cleanup(server.Close)
			return func(header http.Header) error { return send(transport, server.URL, c.request, header) }
		}))
	}
	return contenders
}

// unguarded returns a chain that gets a credential and does not look at it.
func unguarded(build func(testing.TB, http.Handler) chain) func(testing.TB, http.Handler) chain {
	return func(t testing.TB, end http.Handler) chain {
		c := build(t, end)
		c.admits, c.refuses = end, end
		return c
	}
}

// send sends a copy of r to a server.
func send(client http.RoundTripper, server string, r *http.Request, header http.Header) error {
	sent, err := http.NewRequest(r.Method, server+r.URL.Path, nil)
	if err != nil {
		return err
	}
	sent.Host, sent.Header = r.Host, header
	response, err := client.RoundTrip(sent)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%w: %d %s", errRefused, response.StatusCode, body)
	}
	return err
}

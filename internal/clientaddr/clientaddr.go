// Package clientaddr tells which address a request came from.
package clientaddr

import (
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
)

// Of returns the address that by returns. If by is nil, it returns that of the connection, or the
// zero address if that has none. field names by in a warning.
func Of(r *http.Request, by func(*http.Request) netip.Addr, field string) netip.Addr {
	if by != nil {
		return by(r).Unmap()
	}
	peer, _ := netip.ParseAddrPort(r.RemoteAddr)
	addr := peer.Addr().Unmap()
	if isBehindProxy(r, addr) {
		warn(field, addr)
	}
	return addr
}

// isBehindProxy reports whether a request seems to come through a proxy of the server's own network.
func isBehindProxy(r *http.Request, peer netip.Addr) bool {
	if !peer.IsPrivate() && !peer.IsLoopback() && !peer.IsLinkLocalUnicast() {
		return false
	}
	return r.Header["X-Forwarded-For"] != nil || r.Header["Forwarded"] != nil || r.Header["X-Real-Ip"] != nil
}

var warned sync.Map // of fields: a few constants

// warn informs the operator once for each field. Nothing else would show that all clients count as one.
func warn(field string, peer netip.Addr) {
	if _, again := warned.LoadOrStore(field, true); !again {
		slog.Warn("all clients behind a proxy count as one: set "+field, "proxy", peer.String())
	}
}

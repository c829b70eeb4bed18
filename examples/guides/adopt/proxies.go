package main

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// proxies are the networks of the proxies in front of the service. Each appends to
// X-Forwarded-For the address that it was called from.
type proxies []netip.Prefix

// parseProxies reads networks, separated by commas; "" is none.
func parseProxies(networks string) (p proxies, err error) {
	for text := range strings.SplitSeq(networks, ",") {
		if text == "" {
			continue
		}
		network, err := netip.ParsePrefix(strings.TrimSpace(text))
		if err != nil {
			return nil, err
		}
		p = append(p, network)
	}
	return p, nil
}

// addr returns the address of the client: from the right, the first that is not a proxy's.
// What the client wrote itself is to the left of that.
func (p proxies) addr(r *http.Request) netip.Addr {
	connection, _ := netip.ParseAddrPort(r.RemoteAddr) // the zero address if there is none
	peer := connection.Addr().Unmap().WithZone("")
	entries := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for addr := peer; p.trusts(addr); {
		if len(entries) == 0 {
			return addr
		}
		last, err := netip.ParseAddr(strings.TrimSpace(entries[len(entries)-1]))
		if err != nil {
			return peer
		}
		if addr = last.Unmap().WithZone(""); !p.trusts(addr) {
			return addr
		}
		entries = entries[:len(entries)-1]
	}
	return peer
}

func (p proxies) trusts(addr netip.Addr) bool {
	return slices.ContainsFunc(p, func(network netip.Prefix) bool { return network.Contains(addr) })
}

package main

import (
	"errors"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
)

// proxies are those whose word is taken for where a request comes from: with
// -client-addr-header and -trusted-proxies. The zero proxies trust nobody.
type proxies struct {
	header  string
	trusted []netip.Prefix
}

var headerName = regexp.MustCompile(`^[A-Za-z0-9-]+$`)

// newProxies reads the two flags: both or neither.
func newProxies(header, networks string) (p proxies, err error) {
	if header == "" && networks == "" {
		return p, nil
	}
	if header == "" || networks == "" {
		return p, errors.New("-client-addr-header and -trusted-proxies: both or neither")
	}
	if !headerName.MatchString(header) {
		return p, errors.New("-client-addr-header: not the name of a header")
	}
	p.header = header
	for text := range strings.SplitSeq(networks, ",") {
		network, err := netip.ParsePrefix(strings.TrimSpace(text))
		if err != nil || network != network.Masked() || network.Addr().Is4In6() || network.Bits() == 0 {
			return proxies{}, errors.New("-trusted-proxies: networks such as 10.0.0.0/8,2001:db8::/32, and not all there are")
		}
		p.trusted = append(p.trusted, network)
	}
	return p, nil
}

// addr is where a request comes from: the connection's address, unless that is a
// trusted proxy's. Then it is what the nearest proxy that is not trusted has, or
// the client: from the right, the first address that is not trusted. What stands
// left of it anybody may have written. Where the header makes no sense it is the
// connection's own.
func (p proxies) addr(r *http.Request) netip.Addr {
	connection, _ := netip.ParseAddrPort(r.RemoteAddr) // the zero address where there is none
	peer := connection.Addr().Unmap().WithZone("")
	if !p.trusts(peer) {
		return peer
	}
	nearest := peer
	lines := r.Header.Values(p.header)
	for i := len(lines) - 1; i >= 0; i-- { // a second line continues the first
		for rest, more := lines[i], true; more; {
			var entry string
			rest, entry, more = cutLast(rest)
			addr, ok := readAddr(entry)
			if !ok {
				return peer
			}
			if nearest = addr; !p.trusts(addr) {
				return addr
			}
		}
	}
	return nearest
}

func (p proxies) trusts(addr netip.Addr) bool {
	for _, network := range p.trusted {
		if network.Contains(addr) {
			return true
		}
	}
	return false
}

// cutLast cuts the last entry off a list.
func cutLast(list string) (rest, entry string, more bool) {
	at := strings.LastIndexByte(list, ',')
	if at < 0 {
		return "", list, false
	}
	return list[:at], list[at+1:], true
}

// readAddr reads an address, with a port or without: 192.0.2.1, 192.0.2.1:443,
// 2001:db8::1, [2001:db8::1] and [2001:db8::1]:443.
func readAddr(text string) (netip.Addr, bool) {
	text = strings.Trim(text, " \t")
	if port, err := netip.ParseAddrPort(text); err == nil {
		text = port.Addr().String()
	} else if inner, ok := strings.CutPrefix(text, "["); ok {
		if text, ok = strings.CutSuffix(inner, "]"); !ok {
			return netip.Addr{}, false
		}
	}
	addr, err := netip.ParseAddr(text)
	return addr.Unmap(), err == nil && addr.Zone() == ""
}

// quotaName names whom a quota by address counts: a host of IPv6 has a network
// of 2^64 addresses.
func quotaName(addr netip.Addr) string {
	if addr.Is6() {
		network, _ := addr.Prefix(64)
		return network.String()
	}
	return addr.String()
}

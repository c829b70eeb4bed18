package main

import (
	"errors"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
)

// proxies are the proxies whose header is trusted to name the client's address. The
// flags -client-addr-header and -trusted-proxies set them. The zero proxies trust
// no proxy.
type proxies struct {
	header  string
	trusted []netip.Prefix
}

var headerName = regexp.MustCompile(`^[A-Za-z0-9-]+$`)

// newProxies reads the two flags. Both or neither must be set.
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

// addr returns the address from which a request comes. Usually this is the address
// of the connection.
//
// If that address is a trusted proxy, addr reads the header from the right and
// returns the first address that is not trusted. Entries to the left of it may be
// forged. If all addresses are trusted, addr returns the leftmost. If an entry is
// no address, it returns the address of the connection.
func (p proxies) addr(r *http.Request) netip.Addr {
	connection, _ := netip.ParseAddrPort(r.RemoteAddr) // the zero address if there is none
	peer := connection.Addr().Unmap().WithZone("")
	if !p.trusts(peer) {
		return peer
	}
	nearest := peer
	list := strings.Join(r.Header.Values(p.header), ",") // a second header line continues the first
	for more := true; more; {
		var entry string
		list, entry, more = cutLast(list)
		addr, ok := readAddr(entry)
		if !ok {
			return peer
		}
		if nearest = addr; !p.trusts(addr) {
			return addr
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

// cutLast cuts off the last entry of a list.
func cutLast(list string) (rest, entry string, more bool) {
	at := strings.LastIndexByte(list, ',')
	if at < 0 {
		return "", list, false
	}
	return list[:at], list[at+1:], true
}

// readAddr reads an address with or without a port: 192.0.2.1, 192.0.2.1:443,
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

// quotaName returns the name under which a quota counts an address. For IPv6 it is
// the /64 network, because one host has 2^64 addresses.
func quotaName(addr netip.Addr) string {
	if addr.Is6() {
		network, _ := addr.Prefix(64)
		return network.String()
	}
	return addr.String()
}

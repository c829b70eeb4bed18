package auth

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/tenantkit/tenantkit/internal/ascii"
)

// Proxies are the proxies in front of a server. They name the client's address in a header.
// The zero Proxies trust no header: the client's address is that of the connection, which a
// client cannot forge. Behind a proxy that is one address for all clients.
//
// Proxies must not be changed once they are in use. Their methods are safe for concurrent use.
type Proxies struct {
	// Header is the one header that the proxies write themselves, because a client can write
	// all others. Each proxy appends the address that it was called from, as for
	// X-Forwarded-For, or the nearest replaces the header, as for X-Real-Ip. It holds addresses,
	// with or without a port, with commas between them. Forwarded (RFC 7239) is not read.
	Header string

	// Networks hold the proxies and no other host, which could choose its address.
	Networks []netip.Prefix
}

// ParseProxies returns the Proxies of two texts, such as flags: "X-Forwarded-For" and
// "10.0.0.0/8, 2001:db8::/32". Without both texts they are the zero Proxies. It returns the
// error with which Guard.Validate would reject them.
func ParseProxies(header, networks string) (Proxies, error) {
	p := Proxies{Header: header}
	if networks != "" {
		for text := range strings.SplitSeq(networks, ",") {
			network, _ := netip.ParsePrefix(strings.TrimSpace(text)) // or the zero Prefix, which is not valid
			p.Networks = append(p.Networks, network)
		}
	}
	return p, p.validate()
}

func (p Proxies) validate() error {
	switch {
	case p.Header == "" && len(p.Networks) == 0:
		return nil
	case p.Header == "" || len(p.Networks) == 0:
		return errors.New("auth: Proxies.Header and Proxies.Networks: set both or neither")
	case !ascii.HeaderName.Only(p.Header):
		return fmt.Errorf("auth: Proxies.Header %q is not the name of a header", p.Header)
	case strings.EqualFold(p.Header, "Forwarded"):
		return errors.New("auth: Proxies.Header must be a list of addresses, and Forwarded is not: let the proxies set X-Forwarded-For")
	}
	for _, network := range p.Networks {
		if network.Bits() <= 0 || network != network.Masked() || network.Addr().Is4In6() {
			return errors.New("auth: Proxies.Networks must be networks such as 10.0.0.0/8 and 2001:db8::7/128, and not all there are")
		}
	}
	return nil
}

// Addr returns the address from which a request comes. If the connection comes from a trusted
// network, Addr reads the header from the right and returns the first address that is not in
// one. Whatever a client wrote itself is to the left of that. If all are trusted, Addr returns
// the leftmost. If an entry is not an address, or there is no header, it returns the address of
// the connection. That is the zero Addr if the connection has none, as for a Unix socket.
// Addresses have no zone, and IPv4 is not in its IPv6 form.
func (p Proxies) Addr(r *http.Request) netip.Addr {
	addr, _ := p.read(r)
	return addr
}

// read returns the address of the client and that of the connection.
func (p Proxies) read(r *http.Request) (client, peer netip.Addr) {
	connection, _ := netip.ParseAddrPort(r.RemoteAddr)
	peer = connection.Addr().Unmap().WithZone("")
	if !p.trust(peer) {
		return peer, peer
	}
	list := strings.Join(r.Header.Values(p.Header), ",") // a second line continues the first
	for {
		at := strings.LastIndexByte(list, ',')
		addr, ok := parseHop(list[at+1:])
		switch {
		case !ok:
			return peer, peer
		case at < 0 || !p.trust(addr): // to the left of an untrusted hop is what it wrote
			return addr, peer
		}
		list = list[:at]
	}
}

func (p Proxies) trust(addr netip.Addr) bool {
	return slices.ContainsFunc(p.Networks, func(network netip.Prefix) bool { return network.Contains(addr) })
}

// parseHop parses 192.0.2.1, 192.0.2.1:443, 2001:db8::1, [2001:db8::1] and [2001:db8::1]:443.
func parseHop(text string) (netip.Addr, bool) {
	text = strings.Trim(text, " \t")
	addr, err := netip.ParseAddr(text)
	if inner, ok := strings.CutPrefix(text, "["); ok && strings.HasSuffix(inner, "]") {
		addr, err = netip.ParseAddr(strings.TrimSuffix(inner, "]"))
	} else if err != nil {
		var port netip.AddrPort
		port, err = netip.ParseAddrPort(text)
		addr = port.Addr()
	}
	return addr.Unmap(), err == nil && addr.Zone() == ""
}

// ClientAddr returns the address of the client of a request of this tenant: Proxies.Addr of the
// Guard's Proxies. If all clients of a proxy seem to have one address, the log warns once.
func (t *Tenant) ClientAddr(r *http.Request) netip.Addr {
	client, peer := t.guard.Proxies.read(r)
	// As if the request came through a proxy of the server's own network.
	if client == peer && (peer.IsPrivate() || peer.IsLoopback() || peer.IsLinkLocalUnicast()) &&
		(r.Header["X-Forwarded-For"] != nil || r.Header["Forwarded"] != nil || r.Header["X-Real-Ip"] != nil) {
		t.guard.warned.Do(func() {
			slog.Warn("all clients of a proxy count as one: auth.Guard.Proxies must name its header and its network", "proxy", peer.String())
		})
	}
	return client
}

package main

import "net/netip"

// quotaName returns the name under which a quota counts an address. For IPv6 it is
// the /64 network, because one host has 2^64 addresses.
func quotaName(addr netip.Addr) string {
	if addr.Is6() {
		network, _ := addr.Prefix(64)
		return network.String()
	}
	return addr.String()
}

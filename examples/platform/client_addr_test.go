package main

import (
	"net/netip"
	"testing"
)

func TestQuotaNames(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"192.0.2.1": "192.0.2.1", "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64", "2001:db8:1:2::": "2001:db8:1:2::/64",
	} {
		if got := quotaName(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}

package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync/atomic"
	"syscall"
	"time"
)

// errRemote refuses an address of another machine.
var errRemote = errors.New("not an address of this machine; -remote allows it")

// targets rejects URLs that are not instances of one service. Unless remote is
// set, it also rejects URLs of other machines.
func targets(urls []string, remote bool) (at []*url.URL, err error) {
	for _, text := range urls {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" ||
			u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return nil, errors.New("-url is an http or https URL with host, org and version alone")
		}
		at = append(at, u)
		if u.EscapedPath() != at[0].EscapedPath() {
			return nil, errors.New("-url: instances of one service have the same org and version")
		}
		if !remote && !isLoopback(u.Hostname()) {
			return nil, fmt.Errorf("-url %s: %w", u.Hostname(), errRemote)
		}
	}
	return at, nil
}

func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.Unmap().IsLoopback()
}

// instances is the http.RoundTripper below all credentials. It sends each request
// to the next instance of the service. The clients above it see one service, so
// each has one clock and one cookie for all instances.
type instances struct {
	base http.RoundTripper
	at   []*url.URL
	sent atomic.Uint64
}

func newInstances(o *options) *instances {
	dialer := net.Dialer{Timeout: 5 * time.Second}
	if !o.remote {
		dialer.Control = onlyLoopback
	}
	return &instances{at: o.at, base: &http.Transport{
		// No proxy: the run would measure the proxy.
		DialContext:         dialer.DialContext,
		MaxIdleConnsPerHost: o.concurrency,
		IdleConnTimeout:     time.Minute,
	}}
}

// onlyLoopback checks the address that a name was resolved to. Even localhost may
// resolve to another address.
func onlyLoopback(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || !to.Addr().Unmap().IsLoopback() {
		return errRemote
	}
	return nil
}

func (to *instances) RoundTrip(r *http.Request) (*http.Response, error) {
	turn := to.sent.Add(1) - 1
	at := to.at[turn%uint64(len(to.at))]
	sent := r.Clone(r.Context())
	sent.URL.Scheme, sent.URL.Host, sent.Host = at.Scheme, at.Host, at.Host
	return to.base.RoundTrip(sent)
}

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

// checkTargets refuses URLs that are not instances of one service. Unless remote is
// set, it also refuses URLs of other machines.
func checkTargets(urls []string, remote bool) error {
	var path string
	for i, text := range urls {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" ||
			u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return errors.New("-url is an http or https URL with host, org and version alone")
		}
		if i == 0 {
			path = u.EscapedPath()
		}
		if u.EscapedPath() != path {
			return errors.New("-url: instances of one service have the same org and version")
		}
		if !remote && !isLoopback(u.Hostname()) {
			return fmt.Errorf("-url %s: %w", u.Hostname(), errRemote)
		}
	}
	return nil
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

// newInstances expects URLs that checkTargets has accepted.
func newInstances(o *options) (*instances, error) {
	var to instances
	for _, text := range o.urls {
		u, err := url.Parse(text)
		if err != nil {
			return nil, err
		}
		to.at = append(to.at, u)
	}
	dialer := net.Dialer{Timeout: 5 * time.Second}
	if !o.remote {
		dialer.Control = onlyLoopback
	}
	to.base = &http.Transport{
		// No proxy: the run would measure the proxy.
		DialContext:         dialer.DialContext,
		MaxIdleConnsPerHost: o.concurrency,
		IdleConnTimeout:     time.Minute,
	}
	return &to, nil
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

func (to *instances) CloseIdleConnections() {
	(&http.Client{Transport: to.base}).CloseIdleConnections()
}

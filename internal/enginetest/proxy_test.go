package enginetest

import (
	"bytes"
	"net"
	"sync"
	"testing"
	"time"
)

// proxy forwards connections to an address. It can drop all data or delay it.
type proxy struct {
	listener net.Listener
	to       string

	mu      sync.Mutex
	hole    bool          // drops all data in both directions, and closes nothing
	holeAt  []byte        // the hole begins after the first piece to the server that contains this, unless it is nil
	delay   time.Duration // delay of each piece from the server, unless set changes it before
	changed chan struct{} // closed when the mode changes
	conns   []net.Conn
}

func startProxy(t testing.TB, to string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, to: to, changed: make(chan struct{})}
	var wg sync.WaitGroup
	wg.Go(func() { p.accept(&wg) })
	t.Cleanup(func() {
		l.Close()
		p.set(false, 0)
		p.cut()
		wg.Wait()
	})
	return p
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

// set changes the mode for the next pieces, and forwards the delayed ones.
func (p *proxy) set(hole bool, delay time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hole, p.delay = hole, delay
	close(p.changed)
	p.changed = make(chan struct{})
}

// cut closes all open connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}

func (p *proxy) accept(wg *sync.WaitGroup) {
	for {
		in, err := p.listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", p.to)
		if err != nil {
			in.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, in, out)
		p.mu.Unlock()
		wg.Go(func() { p.pump(out, in, false) })
		wg.Go(func() { p.pump(in, out, true) })
	}
}

func (p *proxy) pump(to, from net.Conn, replies bool) {
	defer to.Close()
	defer from.Close()
	piece := make([]byte, 64<<10)
	for {
		n, err := from.Read(piece)
		p.mu.Lock()
		hole, delay, changed := p.hole, p.delay, p.changed
		if !replies && p.holeAt != nil && bytes.Contains(piece[:n], p.holeAt) {
			p.hole = true
		}
		p.mu.Unlock()
		if err != nil && hole {
			<-changed // a host that has vanished closes nothing either
		}
		if err != nil {
			return
		}
		if hole {
			continue
		}
		if replies && delay > 0 {
			select {
			case <-time.After(delay):
			case <-changed:
			}
		}
		if _, err := to.Write(piece[:n]); err != nil {
			return
		}
	}
}

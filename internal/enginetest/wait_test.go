package enginetest

import (
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"
)

// patience is how long tests wait for an event that must come. It is longer than any machine needs,
// because only the event matters.
const patience = time.Minute

// late is the limit for a call that must end with its context after some hundred milliseconds. A
// later call has waited for something else.
const late = 20 * time.Second

// leftToTheGate skips a test that takes much of both processors. The gate runs it.
func leftToTheGate(t *testing.T) {
	t.Helper()
	if os.Getenv("GATE") != "1" && os.Getenv("LONG") != "1" {
		t.Skip("GATE is not 1; .ci/run engines sets it")
	}
}

// until waits for a condition, and reports whether it has become true.
func until(condition func() bool) bool {
	for end := time.Now().Add(patience); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// given are the ports of servers that may not listen yet.
var given sync.Map

// freePort returns a port that nobody listens on, outside the kernel's range for outgoing
// connections. A connection could otherwise take the port of a server that is about to start or
// restart. A Redis in a cluster also listens on the port plus 10,000.
func freePort() (string, error) {
	for range 100 {
		port := 10_000 + rand.IntN(10_000)
		if _, taken := given.LoadOrStore(port, true); !taken && isFree(port) && isFree(port+10_000) {
			return strconv.Itoa(port), nil
		}
	}
	return "", errors.New("no port is free")
}

func isFree(port int) bool {
	l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
	return err == nil && l.Close() == nil
}

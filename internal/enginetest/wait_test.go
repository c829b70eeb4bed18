package enginetest

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"time"
)

// patience is how long is waited for what must come: longer than any machine
// takes, as what counts is that it comes.
const patience = time.Minute

// late is when a call returns that has not ended with its context, of some
// hundred milliseconds, but waits for what does not come, or in an hour.
const late = 20 * time.Second

// until waits for a condition, and reports whether it has come.
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

// freePort returns a port that nobody listens on, of those that the kernel does
// not give to outgoing connections: one of these could be at the port of a
// server that is about to start, or to start again. A Redis of a cluster
// listens at 10,000 above it, too.
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

// Package rawhttp sends requests to a test server byte for byte. It can send requests
// that net/http clients would correct, fold or refuse.
package rawhttp

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// Reply is a response with its body read.
type Reply struct {
	*http.Response
	Text string
}

// Send writes lines, each ended by CRLF, and a blank line, and reads one response. It
// adds a Host line unless there is one.
func Send(t testing.TB, server *httptest.Server, lines ...string) Reply {
	t.Helper()
	if !slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(strings.ToLower(line), "host:") }) {
		lines = append(lines, "Host: "+server.Listener.Addr().String())
	}
	return Write(t, server, strings.Join(lines, "\r\n")+"\r\n\r\n")
}

// Write sends text unchanged and reads one response.
func Write(t testing.TB, server *httptest.Server, text string) Reply {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("no response to %.80q: %v", text, err)
		}
	}
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	must(err)
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	_, err = io.WriteString(conn, text)
	must(err)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	must(err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	must(err)
	return Reply{response, string(body)}
}

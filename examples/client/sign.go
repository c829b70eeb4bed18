package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/tenantkit/tenantkit/signing"
)

// sign prints the headers that sign a request, for another program to send. They
// are valid once, and only within the server's tolerance.
func (c cli) sign(ctx context.Context, args []string) error {
	var to connection
	flags := c.flags("sign", &to)
	curl := flags.Bool("curl", false, "print a curl command")
	data := flags.String("data", "", "`JSON` to send, which version 2 signs and the curl command has")
	if err := c.parse(flags, args, 2, &to); err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, strings.ToUpper(flags.Arg(0)), to.at(flags.Arg(1)), bodyOf(*data))
	if err != nil {
		return err
	}
	headers, err := to.signed(r)
	if err != nil {
		return err
	}
	if *curl {
		_, err = fmt.Fprintln(c.out, curlLine(r, headers, *data))
		return err
	}
	_, err = fmt.Fprintln(c.out, strings.Join(headers, "\n"))
	return err
}

// bodyOf returns no reader for no data: version 2 signs a digest of each body.
func bodyOf(data string) io.Reader {
	if data == "" {
		return nil
	}
	return strings.NewReader(data)
}

// signed returns the headers that sign a request, in the form "Name: value".
func (to *connection) signed(r *http.Request) (headers []string, err error) {
	var sent kept
	transport := to.transport()
	transport.Base = &sent
	if _, err := transport.RoundTrip(r); err != nil {
		return nil, err
	}
	names := signing.HeadersFor(to.header)
	for _, name := range []string{
		names.ClientKey, names.Timestamp, names.Nonce, names.Signature, names.Account,
		"Content-Digest", "Signature-Input", "Signature",
	} {
		if value := sent.header.Get(name); value != "" {
			headers = append(headers, name+": "+value)
		}
	}
	return headers, nil
}

// kept is an http.RoundTripper that keeps the headers of a request, and sends nothing.
type kept struct{ header http.Header }

func (k *kept) RoundTrip(r *http.Request) (*http.Response, error) {
	k.header = r.Header
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
}

// curlLine returns a curl command for a POSIX shell. With -g, curl does not read
// paths[] as a pattern.
func curlLine(r *http.Request, headers []string, data string) string {
	line := "curl -g"
	if r.Method != http.MethodGet {
		line += " -X " + quoted(r.Method)
	}
	for _, header := range headers {
		line += " -H " + quoted(header)
	}
	if data != "" {
		line += " -H 'Content-Type: application/json' --data-raw " + quoted(data)
	}
	return line + " " + quoted(r.URL.String())
}

// quoted quotes s as one word of a POSIX shell.
func quoted(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

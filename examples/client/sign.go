package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tenantkit/tenantkit/signing"
)

// sign prints the headers that sign a request, for another program to send. They
// are valid once, and only within the server's tolerance.
func (c cli) sign() *cobra.Command {
	var curl bool
	var data string
	define := func(flags *pflag.FlagSet) {
		flags.BoolVar(&curl, "curl", false, "print a curl command")
		flags.StringVar(&data, "data", "", "`JSON` to send, which version 2 signs and the curl command has")
	}
	return c.sending("sign", 2, define, func(ctx context.Context, to *connection, args []string) error {
		if err := checkPath(args[1]); err != nil {
			return err
		}
		r, err := http.NewRequestWithContext(ctx, strings.ToUpper(args[0]), to.at(args[1]), bodyOf(data))
		if err != nil {
			return err
		}
		headers, err := to.signed(r)
		switch {
		case err != nil:
			return err
		case curl:
			_, err = fmt.Fprintln(c.out, curlLine(r, headers, data))
			return err
		case to.json:
			object := make(map[string]string, len(headers))
			for _, header := range headers {
				name, value, _ := strings.Cut(header, ": ")
				object[name] = value
			}
			return c.printJSONOf(object, true)
		}
		_, err = fmt.Fprintln(c.out, strings.Join(headers, "\n"))
		return err
	})
}

// bodyOf returns no reader for no data: version 2 signs a digest of each body.
func bodyOf(data string) io.Reader {
	if data == "" {
		return nil
	}
	return strings.NewReader(data)
}

func (to *connection) signed(r *http.Request) (headers []string, err error) {
	var sent unsent
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

type unsent struct{ header http.Header }

func (u *unsent) RoundTrip(r *http.Request) (*http.Response, error) {
	u.header = r.Header
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

func quoted(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

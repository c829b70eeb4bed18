package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/signing"
)

// sign prints the headers that sign a request, for another program to send. They
// are valid once, and only within the server's tolerance.
func (c cli) sign(_ context.Context, args []string) error {
	var to connection
	flags := c.flags("sign", &to)
	curl := flags.Bool("curl", false, "print a curl command")
	data := flags.String("data", "", "`JSON` for the curl command to send")
	if err := c.parse(flags, args, 2, &to); err != nil {
		return err
	}
	r, err := http.NewRequest(strings.ToUpper(flags.Arg(0)), to.at(flags.Arg(1)), nil)
	if err != nil {
		return err
	}
	headers, err := to.signed(r, time.Now())
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

// signed returns the headers that sign a request, in the form "Name: value".
func (to *connection) signed(r *http.Request, at time.Time) ([]string, error) {
	base, err := url.Parse(to.url)
	if err != nil {
		return nil, err
	}
	command, err := signing.Command(r, base.EscapedPath())
	if err != nil {
		return nil, err
	}
	names := signing.HeadersFor(to.header)
	timestamp := strconv.FormatInt(at.UnixMilli(), 10)
	headers := []string{
		names.ClientKey + ": " + to.key,
		names.Timestamp + ": " + timestamp,
		names.Nonce + ": " + rand.Text()[:16],
		names.Signature + ": " + signing.Sign(to.key, to.secret, command, r.Method, timestamp),
	}
	if to.account != "" {
		headers = append(headers, names.Account+": "+to.account)
	}
	return headers, nil
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
		line += " -H 'Content-Type: application/json' --data " + quoted(data)
	}
	return line + " " + quoted(r.URL.String())
}

// quoted quotes s as one word of a POSIX shell.
func quoted(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

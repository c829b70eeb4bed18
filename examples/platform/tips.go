package main

import (
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/signing"
)

// printTips says what to try next.
func (f *facts) printTips(w io.Writer, headerPrefix string) {
	fmt.Fprintf(w, `The reference server listens on %[1]s and holds two demo orgs, %[2]s and %[3]s.

Sign in at %[1]s/ in a browser, with a password:

  %[9]s  %[10]s
  %[14]s  %[15]s  (an administrator)
  %[16]s  %[17]s  (whose role adds object.read.c_message to each token)

or with a password and the codes of an authenticator that was given this secret:

  %[11]s  %[12]s  %[13]s

A signed request, ready to paste. It is good once, for a few minutes:

  %[4]s

The next ones need a signature of their own:

  export TENANTKIT_URL=%[1]s/%[2]s/v2 TENANTKIT_HEADER_PREFIX=%[5]s
  export TENANTKIT_KEY=%[6]s
  export TENANTKIT_SECRET=%[7]s

  go run ./examples/client get /accounts/me
  go run ./examples/client get '/c_messages?limit=3&paths[]=c_text'
  go run ./examples/client list -all -paths c_text,c_likes -where '{"c_likes":{"$gte":48}}' /c_messages
  go run ./examples/client post /c_messages '{"c_text":"hello"}'
  go run ./examples/client get -account %[8]s /accounts/me
  go run ./examples/client sign -curl GET /schemas
  go run ./examples/client mint -scope object.read.c_message %[8]s | go run ./examples/client verify

`, f.BaseURL, f.Org, f.OtherOrg, f.curl(headerPrefix), headerPrefix, f.ClientKey, f.ClientSecret, f.AccountID,
		f.AccountEmail, f.AccountPassword, f.TOTPAccountEmail, f.TOTPPassword, f.TOTPSecret,
		f.AdminEmail, f.AdminPassword, f.ReaderEmail, f.ReaderPassword)
}

// curl returns a command line that asks for a page of messages. The -g keeps
// curl from taking paths[] for a pattern.
func (f *facts) curl(headerPrefix string) string {
	const command = "/c_messages"
	names := signing.HeadersFor(headerPrefix)
	timestamp := strconv.FormatInt(time.Now().UnixMilli(), 10)
	line := []string{"curl -g"}
	for _, header := range [][2]string{
		{names.ClientKey, f.ClientKey},
		{names.Timestamp, timestamp},
		{names.Nonce, rand.Text()[:16]},
		{names.Signature, signing.Sign(f.ClientKey, signing.Secret(f.ClientSecret), command, http.MethodGet, timestamp)},
	} {
		line = append(line, fmt.Sprintf("-H '%s: %s'", header[0], header[1]))
	}
	line = append(line, fmt.Sprintf("'%s/%s/v2%s?limit=3&paths[]=c_text'", f.BaseURL, f.Org, command))
	return strings.Join(line, " \\\n    ")
}

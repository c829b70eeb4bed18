package main

import (
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/tenantkit/tenantkit/signing"
)

// tips are commands to try next.
var tips = template.Must(template.New("tips").Parse(`The reference server at {{.BaseURL}} holds two demo orgs, {{.Org}} and {{.OtherOrg}}.

Sign in at {{.BaseURL}}/ in a browser, with a password:

  {{.AccountEmail}}  {{.AccountPassword}}
  {{.AdminEmail}}  {{.AdminPassword}}  (an administrator)
  {{.ReaderEmail}}  {{.ReaderPassword}}  (whose role adds object.read.c_message to each token)

or with a password and the codes of an authenticator that was given this secret:

  {{.TOTPAccountEmail}}  {{.TOTPPassword}}  {{.TOTPSecret}}

A signed request, ready to paste. It is good once, for a few minutes:

  {{.Curl}}

The next ones need a signature of their own:

  export TENANTKIT_URL={{.BaseURL}}/{{.Org}}/v2 TENANTKIT_HEADER_PREFIX={{.HeaderPrefix}}
  export TENANTKIT_KEY={{.ClientKey}}
  export TENANTKIT_SECRET={{.ClientSecret}}

  go run ./examples/client get /accounts/me
  go run ./examples/client get '/c_messages?limit=3&paths[]=c_text'
  go run ./examples/client list --all --paths c_text,c_likes --where '{"c_likes":{"$gte":48}}' /c_messages
  go run ./examples/client post /c_messages '{"c_text":"hello"}'
  go run ./examples/client post --signature 2 /c_messages '{"c_text":"the signature covers this too"}'
  go run ./examples/client get --account {{.AccountID}} /accounts/me
  go run ./examples/client sign --curl GET /schemas
  go run ./examples/client mint --scope object.read.c_message {{.AccountID}} | go run ./examples/client verify
{{if .Kept}}
Credentials that have scrolled away: "platform demo", with the flags of this server, prints fresh ones.
{{end}}
`))

// printTips ignores an error of the writer: the server runs without the tips.
func printTips(f *facts, w io.Writer, headerPrefix string, kept bool) {
	_ = tips.Execute(w, struct {
		*facts
		HeaderPrefix, Curl string
		Kept               bool // the database outlives the server
	}{f, headerPrefix, curlLine(f, headerPrefix), kept})
}

// curlLine returns a command line that asks for a page of messages. With -g, curl does
// not read paths[] as a pattern.
func curlLine(f *facts, headerPrefix string) string {
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

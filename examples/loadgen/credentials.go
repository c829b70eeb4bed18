package main

import (
	"cmp"
	"errors"
	"flag"
	"strings"

	"github.com/tenantkit/tenantkit/examples/internal/demofile"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// credentials are the URLs of a service and the credentials to present there.
type credentials struct {
	urls      words // one per instance, with org and version
	header    string
	key       string
	secret    signing.Secret
	signature int // its version
	token     token.Token
	email     string
	password  signing.Secret
	demoJSON  string
}

func (c *credentials) define(flags *flag.FlagSet) {
	flags.Var(&c.urls, "url", "`URL` of the service with org and version; repeat it for several instances of one service")
	flags.StringVar(&c.header, "header-prefix", "", "`prefix` of the header names (default Service-)")
	flags.StringVar(&c.key, "key", "", "client `key`")
	flags.StringVar((*string)(&c.secret), "secret", "", "client `secret`")
	flags.IntVar(&c.signature, "signature", 1, "`version` of the signatures: 1 or 2")
	flags.StringVar((*string)(&c.token), "token", "", "bearer `token`")
	flags.StringVar(&c.email, "email", "", "`address` to log in with")
	flags.StringVar((*string)(&c.password), "password", "", "`password` to log in with")
	flags.StringVar(&c.demoJSON, "demo-json", "", "`file` that the reference server wrote")
}

// fill adds what the flags left out, from the environment and the demo file.
func (c *credentials) fill(getenv func(string) string) error {
	demo, err := demofile.Read(cmp.Or(c.demoJSON, getenv("TENANTKIT_DEMO_JSON")))
	if err != nil {
		return err
	}
	if url := cmp.Or(getenv("TENANTKIT_URL"), demo.URL()); len(c.urls) == 0 && url != "" {
		c.urls = words{url}
	}
	for i, url := range c.urls {
		c.urls[i] = strings.TrimSuffix(url, "/")
	}
	c.header = cmp.Or(c.header, getenv("TENANTKIT_HEADER_PREFIX"), "Service-")
	c.key = cmp.Or(c.key, getenv("TENANTKIT_KEY"), demo.ClientKey)
	c.secret = cmp.Or(c.secret, signing.Secret(getenv("TENANTKIT_SECRET")), signing.Secret(demo.ClientSecret))
	c.token = cmp.Or(c.token, token.Token(getenv("TENANTKIT_TOKEN")), token.Token(demo.EphemeralToken))
	c.email = cmp.Or(c.email, getenv("TENANTKIT_EMAIL"), demo.AccountEmail)
	c.password = cmp.Or(c.password, signing.Secret(getenv("TENANTKIT_PASSWORD")), signing.Secret(demo.AccountPassword))
	return nil
}

// cover returns an error if a kind in the mix has no credential.
func (c *credentials) cover(m mix) error {
	switch {
	case len(c.urls) == 0:
		return errors.New("the server's URL is needed; loadgen -help says where from")
	case m[signed] > 0 && (c.key == "" || c.secret == ""):
		return errors.New("signed requests need a client key and its secret, or leave them out of -mix")
	case c.signature != 1 && c.signature != 2:
		return errors.New("-signature is 1 or 2")
	case m[bearer] > 0 && c.token == "":
		return errors.New("bearer requests need a token, or leave them out of -mix")
	case m[session] > 0 && (c.email == "" || c.password == ""):
		return errors.New("sessions need an email address and its password, or leave them out of -mix")
	}
	return nil
}

package main

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/signing"
)

// connection is a server and the credential to use there.
type connection struct {
	url      string // with org and version
	key      string
	secret   signing.Secret
	account  string
	header   string
	version  string // of signatures
	demoJSON string
}

// flags returns the flag set of a command that talks to a server. It has the flags
// that all these commands share.
func (c cli) flags(name string, to *connection) *flag.FlagSet {
	flags := c.flagSet(name)
	flags.StringVar(&to.url, "url", "", "`URL` of the service with org and version")
	flags.StringVar(&to.key, "key", "", "client `key`")
	flags.StringVar((*string)(&to.secret), "secret", "", "client `secret`")
	flags.StringVar(&to.account, "account", "", "`id` of the account to act as, instead of the credential's own")
	flags.StringVar(&to.header, "header-prefix", "", "`prefix` of the header names (default Service-)")
	flags.StringVar(&to.version, "signature", "", "`version` of the signatures: 1, or 2, which covers query, body and account (default 1)")
	flags.StringVar(&to.demoJSON, "demo-json", "", "`file` that the reference server wrote")
	return flags
}

// parse reads a command line that has the given number of arguments after its
// flags. It then completes the connection.
func (c cli) parse(flags *flag.FlagSet, args []string, arguments int, to *connection) error {
	if err := c.parseFlags(flags, args); err != nil {
		return err
	}
	if err := checkArguments(flags, arguments); err != nil {
		return err
	}
	return to.complete(c.getenv)
}

// complete adds what the flags left out. It returns an error if the URL, the client
// key or the secret is still missing.
func (to *connection) complete(getenv func(string) string) error {
	if err := to.fill(getenv); err != nil {
		return err
	}
	if to.url == "" || to.key == "" || to.secret == "" {
		return usageError("the server's URL, a client key and its secret are needed; client -help says where from")
	}
	if to.version != "1" && to.version != "2" {
		return usageError(fmt.Sprintf("there is no version %q of signatures: it is 1 or 2", to.version))
	}
	return nil
}

// fill adds what the flags left out, from the environment and the demo file.
func (to *connection) fill(getenv func(string) string) error {
	to.url = cmp.Or(to.url, getenv("TENANTKIT_URL"))
	to.key = cmp.Or(to.key, getenv("TENANTKIT_KEY"))
	to.secret = cmp.Or(to.secret, signing.Secret(getenv("TENANTKIT_SECRET")))
	to.account = cmp.Or(to.account, getenv("TENANTKIT_ACCOUNT"))
	to.header = cmp.Or(to.header, getenv("TENANTKIT_HEADER_PREFIX"), signing.DefaultPrefix)
	to.version = cmp.Or(to.version, getenv("TENANTKIT_SIGNATURE"), "1")
	if file := cmp.Or(to.demoJSON, getenv("TENANTKIT_DEMO_JSON")); file != "" {
		if err := to.completeFrom(file); err != nil {
			return err
		}
	}
	to.url = strings.TrimSuffix(to.url, "/")
	return nil
}

// completeFrom adds what the flags and the environment left out, from a demo file.
func (to *connection) completeFrom(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var demo struct {
		BaseURL string         `json:"base_url"`
		Org     string         `json:"org"`
		Key     string         `json:"client_key"`
		Secret  signing.Secret `json:"client_secret"`
	}
	if err := json.Unmarshal(text, &demo); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	to.url = cmp.Or(to.url, demo.BaseURL+"/"+demo.Org+"/v2")
	to.key = cmp.Or(to.key, demo.Key)
	to.secret = cmp.Or(to.secret, demo.Secret)
	return nil
}

// client returns an http.Client that signs its requests.
func (to *connection) client() *http.Client {
	return &http.Client{Timeout: 30 * time.Second, Transport: to.transport()}
}

func (to *connection) transport() *signing.Transport {
	return &signing.Transport{
		BaseURL:   to.url,
		ClientKey: to.key,
		Secret:    to.secret,
		Version:   map[string]int{"1": 1, "2": 2}[to.version],
		Account:   to.account,
		Header:    to.header,
	}
}

// at returns the URL of a path below the org.
func (to *connection) at(path string) string {
	return to.url + "/" + strings.TrimPrefix(path, "/")
}

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenantkit/tenantkit/examples/internal/private"
	"github.com/tenantkit/tenantkit/signing"
)

const defaultProfile = "default"

// profileName is what a profile may be called: one plain file name on every system.
var profileName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// errNoProfile is returned for a profile that nobody has kept.
var errNoProfile = errors.New("there is no such profile; client login keeps one")

// profile is a server and a credential, as a file of the user keeps them. The secret is
// in plain text: the permissions of the file protect it.
type profile struct {
	URL     string `json:"url"`
	Key     string `json:"key"`
	Secret  string `json:"secret"`
	Account string `json:"account,omitempty"`
	Header  string `json:"header_prefix,omitempty"`
	Version string `json:"signature,omitempty"`
}

// login keeps a profile, once the server has accepted its credential.
func (c cli) login() *cobra.Command {
	var to connection
	return c.connecting(c.flags("login", &to), 0, &to, func(ctx context.Context, _ []string) error {
		name := cmp.Or(to.profile, defaultProfile)
		file, err := c.profileFile(name)
		if err != nil {
			return err
		}
		if err := c.checkFolder(); err != nil {
			return err // before the user types a secret
		}
		if err := to.completeByAsking(ctx, c); err != nil {
			return err
		}
		var me struct {
			ID   string `json:"_id"`
			Name string `json:"name"`
		}
		if err := to.fetch(ctx, http.MethodGet, to.at("/accounts/me"), "", &me); err != nil {
			return err
		}
		p := profile{to.url, to.key, string(to.secret), to.account, to.header, to.version}
		if err := p.write(file); err != nil {
			return err
		}
		fmt.Fprintf(c.errs, "client: the URL, the key and the secret are in %s\n", file)
		current, err := c.currentProfile()
		if err != nil {
			return err
		}
		if current != name {
			fmt.Fprintf(c.errs, "client: commands without -profile use %s; client profile use %s changes that\n", current, name)
		}
		if to.json {
			return c.printJSONOf(kept{Name: name, Current: current == name, URL: to.url, Key: to.key, Account: to.account}, true)
		}
		_, err = fmt.Fprintf(c.out, "profile %s: %s at %s\n", name, printable(cmp.Or(me.Name, me.ID)), to.url)
		return err
	})
}

// completeByAsking is complete for a new profile: no other profile is used, and the user
// is asked for what is missing.
func (to *connection) completeByAsking(ctx context.Context, c cli) (err error) {
	if err := to.fillWithoutProfile(c.getenv); err != nil {
		return err
	}
	if c.ask != nil && to.url == "" {
		if to.url, err = c.ask(ctx, "URL, with org and version: ", false); err != nil {
			return err
		}
		to.url = strings.TrimSuffix(to.url, "/")
	}
	if err := checkURL(to.url); err != nil {
		return err
	}
	if c.ask != nil && to.key == "" {
		if to.key, err = c.ask(ctx, "client key: ", false); err != nil {
			return err
		}
	}
	if to.key == "" {
		return errNothingToKeep
	}
	if to.secret == "" {
		if to.secret, err = c.askSecret(ctx); err != nil {
			return err
		}
	}
	return to.checkVersion()
}

// errNothingToKeep is returned if login does not know the server or the key.
const errNothingToKeep = usageError("-url and -key are needed, or a demo file; client login -help has examples")

// checkURL returns an error if a URL cannot be that of a server.
func checkURL(text string) error {
	if text == "" {
		return errNothingToKeep
	}
	base, err := url.Parse(text)
	if err != nil || base.Host == "" || base.User != nil || base.Scheme != "https" && base.Scheme != "http" {
		return usageError("-url is http:// or https://, a host, and the org and version, without a password")
	}
	return nil
}

func (c cli) askSecret(ctx context.Context) (signing.Secret, error) {
	var text string
	var err error
	if c.ask != nil {
		text, err = c.ask(ctx, "secret, which is not shown: ", true)
	} else {
		var read []byte
		read, err = io.ReadAll(io.LimitReader(c.in, 4<<10))
		text = strings.TrimSpace(string(read))
	}
	if err == nil && text == "" {
		err = usageError("no secret was given")
	}
	return signing.Secret(text), err
}

// logout deletes a profile.
func (c cli) logout() *cobra.Command {
	flags := flagSet("logout")
	name := flags.String("profile", "", "`name` of the profile (default: the one in use)")
	cmd := c.command(flags, 0, func(context.Context, []string) error {
		if *name != "" {
			return c.removeProfile(*name)
		}
		current, err := c.currentProfile()
		if err != nil {
			return err
		}
		return c.removeProfile(current)
	})
	complete(cmd, "profile", c.profileNames()...)
	return cmd
}

func (c cli) profileFile(name string) (string, error) {
	if !profileName.MatchString(name) {
		return "", usageError(fmt.Sprintf("-profile %q: up to 64 letters, digits, - and _", name))
	}
	if c.profiles == "" {
		return "", errors.New("the user has no folder for configuration")
	}
	return filepath.Join(c.profiles, name+".json"), nil
}

func (c cli) hasProfile(name string) bool {
	file, err := c.profileFile(name)
	if err != nil {
		return false
	}
	_, err = os.Lstat(file)
	return err == nil
}

// profileNames lists the profiles, for completion.
func (c cli) profileNames() (names []string) {
	if c.profiles == "" {
		return nil
	}
	files, _ := filepath.Glob(filepath.Join(c.profiles, "*.json"))
	for _, file := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(file), ".json"))
	}
	return names
}

// readProfile returns a profile. It refuses a file that other users can read, because
// they may know the secret, or can write, because they could name a server of theirs.
func (c cli) readProfile(name string) (p profile, err error) {
	file, err := c.profileFile(name)
	if err != nil {
		return p, err
	}
	if err := c.checkFolder(); err != nil {
		return p, err
	}
	text, err := private.ReadUnlinked(file)
	if errors.Is(err, fs.ErrNotExist) {
		return p, usageError(fmt.Sprintf("%s: %v", name, errNoProfile))
	} else if err != nil {
		return p, err
	}
	if err := json.Unmarshal(text, &p); err != nil || p.URL == "" || p.Key == "" || p.Secret == "" {
		return p, fmt.Errorf("%s is no profile; client login writes a new one", file)
	}
	return p, nil
}

// write replaces a profile.
func (p profile) write(file string) error {
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	return replaceFile(file, append(text, '\n'))
}

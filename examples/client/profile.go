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
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/tenantkit/tenantkit/examples/internal/private"
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

// kept is a profile without its secret.
type kept struct {
	Name    string `json:"name"`
	Current bool   `json:"current"`
	URL     string `json:"url,omitempty"`
	Key     string `json:"key,omitempty"`
	Account string `json:"account,omitempty"`
	Error   string `json:"error,omitempty"` // why it is refused
}

// login keeps a profile, once the server has accepted its credential.
func (c cli) login() *cobra.Command {
	var to connection
	return c.connecting(c.flags("login", &to), 0, &to, func(ctx context.Context, _ []string) error {
		name := cmp.Or(to.profile, defaultProfile)
		file, err := c.profileFile(name)
		if err == nil {
			err = c.checkFolder() // before the user types a secret
		}
		if err == nil {
			err = to.completeByAsking(ctx, c)
		}
		if err != nil {
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
			fmt.Fprintf(c.errs, "client: commands without --profile use %s; client profile use %s changes that\n", current, name)
		}
		if to.json {
			return c.printJSONOf(kept{Name: name, Current: current == name, URL: to.url, Key: to.key, Account: to.account}, true)
		}
		_, err = fmt.Fprintf(c.out, "profile %s: %s at %s\n", name, printable(cmp.Or(me.Name, me.ID)), to.url)
		return err
	})
}

// completeByAsking is complete for a new profile: no other profile is used, and the user
// is asked for what is missing. Without a terminal the secret is read from standard input.
func (to *connection) completeByAsking(ctx context.Context, c cli) error {
	if err := to.fillServer(c.getenv); err != nil {
		return err
	}
	to.settle(c.getenv, profile{})
	for _, missing := range []struct {
		value  *string
		prompt string
	}{
		{&to.url, "URL, with org and version: "},
		{&to.key, "client key: "},
		{(*string)(&to.secret), "secret, which is not shown: "},
	} {
		isSecret := missing.value == (*string)(&to.secret)
		var err error
		switch {
		case *missing.value != "":
		case c.ask != nil:
			*missing.value, err = c.ask(ctx, missing.prompt, isSecret)
		case isSecret:
			var text []byte
			text, err = io.ReadAll(io.LimitReader(c.in, 4<<10))
			*missing.value = strings.TrimSpace(string(text))
		}
		switch {
		case err != nil:
			return err
		case *missing.value == "" && isSecret:
			return usageError("no secret was given")
		case *missing.value == "":
			return usageError("--url and --key are needed, or a demo file; client login --help has examples")
		}
		to.url = strings.TrimSuffix(to.url, "/")
		if err := checkURL(to.url); err != nil {
			return err // before the user types a secret
		}
	}
	return to.checkVersion()
}

// checkURL returns an error if a URL cannot be that of a server.
func checkURL(text string) error {
	base, err := url.Parse(text)
	if err != nil || base.Host == "" || base.User != nil || base.Scheme != "https" && base.Scheme != "http" {
		return usageError("--url is http:// or https://, a host, and the org and version, without a password")
	}
	return nil
}

// logout deletes a profile. If it was in use, the default is, again.
func (c cli) logout() *cobra.Command {
	flags := flagSet("logout")
	given := flags.String("profile", "", "`name` of the profile (default: the one in use)")
	cmd := c.command(flags, 0, func(context.Context, []string) error {
		current, err := c.currentProfile()
		if err != nil {
			return err
		}
		name := cmp.Or(*given, current)
		file, err := c.profileFile(name)
		if err != nil {
			return err
		}
		if err := os.Remove(file); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: %w", name, errNoProfile)
		} else if err != nil {
			return err
		}
		if current == name && name != defaultProfile {
			if err := os.Remove(c.currentFile()); err != nil {
				return err
			}
		}
		_, err = fmt.Fprintf(c.out, "profile %s deleted; its credential stays valid\n", name)
		return err
	})
	c.completeProfiles(cmd)
	return cmd
}

func (c cli) listProfiles() *cobra.Command {
	flags := flagSet("profile list")
	asJSON := flags.Bool("json", false, "print JSON")
	return c.command(flags, 0, func(context.Context, []string) error {
		current, err := c.currentProfile()
		if err != nil {
			return err
		}
		all := []kept{}
		for _, name := range c.profileNames() {
			k := kept{Name: name, Current: name == current}
			p, err := c.readProfile(name)
			if err != nil {
				k.Error = err.Error()
			}
			k.URL, k.Key, k.Account = p.URL, p.Key, p.Account
			all = append(all, k)
		}
		if *asJSON {
			return c.printJSONOf(all, true)
		}
		if len(all) == 0 {
			fmt.Fprintln(c.errs, "client: there is no profile; client login keeps one")
		}
		rows := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
		for _, k := range all {
			mark, about := " ", k.URL+"  "+k.Key
			if k.Current {
				mark = "*"
			}
			if k.Error != "" {
				about = "refused: " + k.Error
			}
			fmt.Fprintf(rows, "%s %s\t%s\n", mark, k.Name, printable(about))
		}
		return rows.Flush()
	})
}

func (c cli) useProfile() *cobra.Command {
	cmd := c.command(flagSet("profile use"), 1, func(_ context.Context, args []string) error {
		name := args[0]
		p, err := c.readProfile(name)
		if err != nil {
			return err
		}
		if err := replaceFile(c.currentFile(), []byte(name+"\n")); err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.out, "profile %s: %s\n", name, printable(p.URL))
		return err
	})
	cmd.ValidArgs = c.profileNames()
	return cmd
}

// completeProfiles makes a shell offer profiles as the value of --profile.
func (c cli) completeProfiles(cmd *cobra.Command) {
	_ = cmd.RegisterFlagCompletionFunc("profile", cobra.FixedCompletions(c.profileNames(), cobra.ShellCompDirectiveNoFileComp))
}

func (c cli) profileFile(name string) (string, error) {
	if !profileName.MatchString(name) {
		return "", usageError(fmt.Sprintf("--profile %q: up to 64 letters, digits, - and _", name))
	}
	if c.profiles == "" {
		return "", errors.New("the user has no folder for configuration")
	}
	return filepath.Join(c.profiles, name+".json"), nil
}

// profileNames lists the profiles.
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

// currentFile holds the name of the profile in use. It is no name of a profile's file.
func (c cli) currentFile() string { return filepath.Join(c.profiles, "current") }

// currentProfile returns the name of the profile in use: the one that was chosen, or the
// default. A choice that others could have made is an error.
func (c cli) currentProfile() (string, error) {
	if c.profiles == "" {
		return defaultProfile, nil
	}
	text, err := c.readPrivate(c.currentFile())
	if errors.Is(err, fs.ErrNotExist) {
		return defaultProfile, nil
	} else if err != nil {
		return "", err
	}
	name := strings.TrimSpace(string(text))
	if !profileName.MatchString(name) {
		return "", fmt.Errorf("%s: not the name of a profile; client profile use writes it", c.currentFile())
	}
	return name, nil
}

// readProfile returns a profile. It refuses a file that other users can read, because
// they may know the secret, or can write, because they could name a server of theirs.
func (c cli) readProfile(name string) (p profile, err error) {
	file, err := c.profileFile(name)
	if err != nil {
		return p, err
	}
	text, err := c.readPrivate(file)
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

func (c cli) readPrivate(file string) ([]byte, error) {
	if err := c.checkFolder(); err != nil {
		return nil, err
	}
	return private.ReadUnlinked(file)
}

// write replaces a profile.
func (p profile) write(file string) error {
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	return replaceFile(file, append(text, '\n'))
}

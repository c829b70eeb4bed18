package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/tenantkit/tenantkit/examples/internal/private"
)

const defaultProfile = "default"

// profiles are the servers and credentials that a file of the user keeps. The secrets are in
// plain text: the permissions of the file protect them.
type profiles struct {
	Current string             `json:"current,omitempty"` // the one in use, unless it is the default
	Known   map[string]profile `json:"profiles"`
}

type profile struct {
	URL     string `json:"url"`
	Key     string `json:"key"`
	Secret  string `json:"secret"`
	Account string `json:"account,omitempty"`
	Header  string `json:"header_prefix,omitempty"`
	Version string `json:"signature,omitempty"`
}

func (p profiles) current() string { return cmp.Or(p.Current, defaultProfile) }

func (p profiles) get(name string) (profile, error) {
	found, ok := p.Known[name]
	if !ok {
		return found, usageError(name + ": there is no such profile; client login keeps one")
	}
	return found, nil
}

// readProfiles returns the profiles, of which there may be none. It refuses a file that other
// users can read, because they may know a secret, or can write or replace, because they could
// name a server of theirs.
func (c cli) readProfiles() (p profiles, err error) {
	p.Known = make(map[string]profile)
	if c.profiles == "" {
		return p, nil
	}
	text, err := private.ReadOwn(c.profiles)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil // login makes it
	} else if err != nil {
		return p, err
	}
	if err := json.Unmarshal(text, &p); err != nil || p.Known == nil {
		return p, fmt.Errorf("%s has no profiles; delete it, and client login writes a new one", c.profiles)
	}
	return p, nil
}

// writeProfiles replaces the file. Nobody else can read it at any time.
func (c cli) writeProfiles(p profiles) error {
	text, err := json.MarshalIndent(p, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(c.profiles), 0o700)
	}
	if err != nil {
		return err
	}
	return private.Write(c.profiles, append(text, '\n'), os.Rename)
}

func (c cli) login() *cobra.Command {
	return c.connecting("login", cobra.NoArgs, nil, func(ctx context.Context, to *connection, _ []string) error {
		if c.profiles == "" {
			return errors.New("the user has no folder for configuration")
		}
		name := cmp.Or(to.name, defaultProfile)
		all, err := c.readProfiles() // before the user types a secret
		if err == nil {
			err = to.completeNew(ctx, c)
		}
		if err != nil {
			return err
		}
		var me struct {
			ID   string `json:"_id"`
			Name string `json:"name"`
		}
		if err := to.fetch(ctx, http.MethodGet, "/accounts/me", "", &me); err != nil {
			return err
		}
		all.Known[name] = to.profile
		if err := c.writeProfiles(all); err != nil {
			return err
		}
		fmt.Fprintf(c.errs, "client: the URL, the key and the secret are in %s\n", c.profiles)
		if current := all.current(); current != name {
			fmt.Fprintf(c.errs, "client: commands without --profile use %s; client profile use %s changes that\n", current, name)
		}
		_, err = fmt.Fprintf(c.out, "profile %s: %s at %s\n", name, printable(cmp.Or(me.Name, me.ID)), to.URL)
		return err
	})
}

// completeNew is complete for a new profile: no other profile is used, and the secret is asked for, or read from
// standard input without a terminal.
func (to *connection) completeNew(ctx context.Context, c cli) error {
	if err := to.fillServer(c.getenv); err != nil {
		return err
	}
	to.settle(c.getenv, profile{})
	if to.URL == "" || to.Key == "" {
		return usageError("--url and --key are needed, or a demo file; client login --help has examples")
	}
	err := to.check()
	switch {
	case err != nil || to.Secret != "":
		return err
	case c.askSecret != nil:
		to.Secret, err = c.askSecret(ctx)
	default:
		to.Secret, err = c.readSecret(4 << 10)
	}
	if err == nil && to.Secret == "" {
		err = usageError("no secret was given")
	}
	return err
}

// changeProfiles changes the profiles in the file, and prints what change returns.
func (c cli) changeProfiles(change func(*profiles) (string, error)) error {
	all, err := c.readProfiles()
	if err != nil {
		return err
	}
	done, err := change(&all)
	if err == nil {
		err = c.writeProfiles(all)
	}
	if err == nil {
		_, err = fmt.Fprintln(c.out, done)
	}
	return err
}

func (c cli) logout() *cobra.Command {
	var name string
	cmd := c.command("logout", cobra.NoArgs, func(context.Context, []string) error {
		return c.changeProfiles(func(all *profiles) (string, error) {
			name := cmp.Or(name, all.current())
			_, err := all.get(name)
			delete(all.Known, name)
			if all.Current == name {
				all.Current = ""
			}
			return fmt.Sprintf("profile %s deleted; its credential stays valid", name), err
		})
	})
	cmd.Flags().StringVar(&name, "profile", "", "`name` of the profile (default: the one in use)")
	_ = cmd.RegisterFlagCompletionFunc("profile", c.profileNames)
	return cmd
}

func (c cli) listProfiles() *cobra.Command {
	return c.command("profile list", cobra.NoArgs, func(context.Context, []string) error {
		all, err := c.readProfiles()
		if err != nil {
			return err
		}
		if len(all.Known) == 0 {
			fmt.Fprintln(c.errs, "client: there is no profile; client login keeps one")
		}
		rows := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
		for _, name := range slices.Sorted(maps.Keys(all.Known)) {
			mark := " "
			if name == all.current() {
				mark = "*"
			}
			p := all.Known[name]
			fmt.Fprintf(rows, "%s %s\t%s\t%s\n", mark, printable(name), printable(p.URL), printable(p.Key))
		}
		return rows.Flush()
	})
}

func (c cli) useProfile() *cobra.Command {
	cmd := c.command("profile use", cobra.ExactArgs(1), func(_ context.Context, args []string) error {
		return c.changeProfiles(func(all *profiles) (string, error) {
			p, err := all.get(args[0])
			all.Current = args[0]
			return fmt.Sprintf("profile %s: %s", args[0], printable(p.URL)), err
		})
	})
	cmd.ValidArgs, _ = c.profileNames(nil, nil, "")
	return cmd
}

// profileNames offers profiles to a shell.
func (c cli) profileNames(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	all, _ := c.readProfiles() // none of a file that is refused
	return slices.Sorted(maps.Keys(all.Known)), cobra.ShellCompDirectiveNoFileComp
}

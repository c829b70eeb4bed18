package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenantkit/tenantkit/examples/internal/private"
)

// profile lists the profiles, says which one is in use, and removes them.
func (c cli) profile() *cobra.Command {
	cmd := &cobra.Command{Use: "profile", Short: "Lists, chooses and removes what client login has kept."}
	cmd.AddCommand(c.listProfiles(), c.useProfile(), c.dropProfile())
	return cmd
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

func (c cli) kept() ([]kept, error) {
	current, err := c.currentProfile()
	if err != nil {
		return nil, err
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
	return all, nil
}

func (c cli) listProfiles() *cobra.Command {
	flags := flagSet("profile list")
	asJSON := flags.Bool("json", false, "print JSON")
	return c.command(flags, 0, func(context.Context, []string) error {
		all, err := c.kept()
		if err != nil {
			return err
		}
		if *asJSON {
			return c.printJSONOf(all, true)
		}
		if len(all) == 0 {
			fmt.Fprintln(c.errs, "client: there is no profile; client login keeps one")
		}
		width := 0
		for _, k := range all {
			width = max(width, len(k.Name))
		}
		for _, k := range all {
			mark, about := " ", k.URL+"  "+k.Key
			if k.Current {
				mark = "*"
			}
			if k.Error != "" {
				about = "refused: " + k.Error
			}
			if _, err := fmt.Fprintf(c.out, "%s %-*s  %s\n", mark, width, k.Name, printable(about)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c cli) useProfile() *cobra.Command {
	return c.naming("profile use", func(name string) error {
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
}

func (c cli) dropProfile() *cobra.Command { return c.naming("profile remove", c.removeProfile) }

// naming returns a command whose argument is the name of a profile.
func (c cli) naming(command string, run func(name string) error) *cobra.Command {
	cmd := c.command(flagSet(command), 1, func(_ context.Context, args []string) error { return run(args[0]) })
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return c.profileNames(), cobra.ShellCompDirectiveNoFileComp
	}
	return cmd
}

// removeProfile deletes a profile. If it was in use, the default is, again.
func (c cli) removeProfile(name string) error {
	file, err := c.profileFile(name)
	if err != nil {
		return err
	}
	current, err := c.currentProfile()
	if err != nil {
		return err
	}
	if err := os.Remove(file); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", name, errNoProfile)
	} else if err != nil {
		return err
	}
	if current == name {
		if err := os.Remove(c.currentFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	_, err = fmt.Fprintf(c.out, "profile %s deleted; its credential stays valid\n", name)
	return err
}

// currentFile holds the name of the profile in use. It is no name of a profile's file.
func (c cli) currentFile() string { return filepath.Join(c.profiles, "current") }

// currentProfile returns the name of the profile in use: the one that was chosen, or the
// default. A choice that others could have made is an error.
func (c cli) currentProfile() (string, error) {
	if c.profiles == "" {
		return defaultProfile, nil
	}
	if err := c.checkFolder(); err != nil {
		return "", err
	}
	text, err := private.ReadUnlinked(c.currentFile())
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

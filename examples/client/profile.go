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
	"runtime"
	"strings"

	"github.com/spf13/cobra"

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
		if err := to.completeByAsking(c); err != nil {
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
		_, err = fmt.Fprintf(c.out, "profile %s: %s at %s\n", name, printable(cmp.Or(me.Name, me.ID)), to.url)
		return err
	})
}

// completeByAsking is complete for a new profile: no other profile is used, and the user
// is asked for a missing secret.
func (to *connection) completeByAsking(c cli) error {
	if err := to.fillWithoutProfile(c.getenv); err != nil {
		return err
	}
	if to.url == "" || to.key == "" {
		return usageError("-url and -key are needed, or a demo file; client login -help has examples")
	}
	if base, err := url.Parse(to.url); err != nil || base.Host == "" || base.User != nil || base.Scheme != "https" && base.Scheme != "http" {
		return usageError("-url is http:// or https://, a host, and the org and version, without a password")
	}
	if to.secret == "" {
		secret, err := c.askSecret()
		if err != nil {
			return err
		}
		to.secret = secret
	}
	return to.checkVersion()
}

func (c cli) askSecret() (signing.Secret, error) {
	var text []byte
	var err error
	if c.ask != nil {
		text, err = c.ask("secret: ")
	}
	if err == nil && text == nil {
		text, err = io.ReadAll(io.LimitReader(c.in, 4<<10))
	}
	secret := strings.TrimSpace(string(text))
	if err == nil && secret == "" {
		err = usageError("no secret was given")
	}
	return signing.Secret(secret), err
}

// logout deletes a profile.
func (c cli) logout() *cobra.Command {
	flags := flagSet("logout")
	name := flags.String("profile", defaultProfile, "`name` of the profile")
	cmd := c.command(flags, 0, func(context.Context, []string) error {
		file, err := c.profileFile(*name)
		if err != nil {
			return err
		}
		if err := os.Remove(file); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: %w", *name, errNoProfile)
		} else if err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.out, "profile %s deleted; its credential stays valid\n", *name)
		return err
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
	opened, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return p, usageError(fmt.Sprintf("%s: %v", name, errNoProfile))
	} else if err != nil {
		return p, err
	}
	defer opened.Close()
	// Asked of the open file: the one at this path may be another by now.
	info, err := opened.Stat()
	if err != nil {
		return p, err
	}
	if err := private(info); err != nil {
		return p, fmt.Errorf("%s: %w", file, err)
	}
	text, err := io.ReadAll(io.LimitReader(opened, 64<<10))
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal(text, &p); err != nil || p.URL == "" || p.Key == "" || p.Secret == "" {
		return p, fmt.Errorf("%s is no profile; client login writes a new one", file)
	}
	return p, nil
}

// errShared is returned for a profile that other users can read or write.
var errShared = errors.New("other users can read or write this profile: run chmod 600 on it, and rotate its secret if others may have seen it")

// private returns errShared if other users can read or write a file. On Windows the
// folder's access list decides, which keeps other users out.
func private(info fs.FileInfo) error {
	switch {
	case !info.Mode().IsRegular():
		return errors.New("not a regular file")
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return errShared
	}
	return nil
}

// write replaces a profile. Nobody else can read the file at any time.
func (p profile) write(file string) error {
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	temporary, err := os.CreateTemp(filepath.Dir(file), "new-*") // 0600
	if err != nil {
		return err
	}
	_, err = temporary.Write(append(text, '\n'))
	if err = errors.Join(err, temporary.Close()); err == nil {
		err = os.Rename(temporary.Name(), file)
	}
	if err != nil {
		_ = os.Remove(temporary.Name())
	}
	return err
}

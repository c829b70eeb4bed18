package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/tenantkit/tenantkit/examples/internal/private"
)

// errSharedFolder is returned for a folder in which other users can replace profiles.
var errSharedFolder = errors.New("other users can write to this folder, and so replace the profiles in it: run chmod go-w on it")

// checkFolder returns an error if other users could put a profile of theirs in place of one
// of the user: by writing to the folder of the profiles, or to the one above it.
func (c cli) checkFolder() error {
	for _, folder := range []string{filepath.Dir(c.profiles), c.profiles} {
		info, err := os.Stat(folder)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // login makes it
		case err != nil:
			return err
		case !info.IsDir():
			return fmt.Errorf("%s: not a folder", folder)
		case runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0:
			return fmt.Errorf("%s: %w", folder, errSharedFolder)
		}
	}
	return nil
}

// replaceFile replaces a file of the folder, which it makes. Nobody else can read the file at
// any time.
func replaceFile(file string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return private.Write(file, text, os.Rename)
}

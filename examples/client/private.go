package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// errShared is returned for a profile that other users can read or write.
var errShared = errors.New("other users can read or write this profile: run chmod 600 on it, and rotate its secret if others may have seen it")

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

// readPrivate reads a small file that only the user can read and write. It follows no
// symbolic link: its target may be in a folder of others.
func readPrivate(file string) ([]byte, error) {
	named, err := os.Lstat(file)
	if err != nil {
		return nil, err
	}
	if named.Mode()&fs.ModeSymlink != 0 {
		return nil, fmt.Errorf("%s: a symbolic link, and not a file of this folder", file)
	}
	opened, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	// Asked of the open file: the one at this path may be another by now.
	info, err := opened.Stat()
	if err != nil {
		return nil, err
	}
	if err := private(info); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if !os.SameFile(named, info) {
		return nil, fmt.Errorf("%s: replaced while it was opened", file)
	}
	return io.ReadAll(io.LimitReader(opened, 64<<10))
}

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

// writePrivate replaces a file. Nobody else can read it at any time.
func writePrivate(file string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	temporary, err := os.CreateTemp(filepath.Dir(file), "new-*") // 0600
	if err != nil {
		return err
	}
	_, err = temporary.Write(text)
	if err = errors.Join(err, temporary.Close()); err == nil {
		err = os.Rename(temporary.Name(), file)
	}
	if err != nil {
		_ = os.Remove(temporary.Name())
	}
	return err
}

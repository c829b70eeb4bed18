// Package private reads and writes files of secrets, for the programs of this folder.
package private

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

var (
	// ErrShared is returned for a file that other users can read or write.
	ErrShared = errors.New("other users can read or write this file: run chmod 600 on it, and rotate its secret if others may have seen it")

	// ErrSharedFolder is returned for a folder in which other users can replace the file.
	ErrSharedFolder = errors.New("other users can write to this folder, and so replace the files in it: run chmod go-w on it")
)

// maxFile is how much of a file is read.
const maxFile = 64 << 10

// Read reads a small file, and refuses one that others can read or write. The name may
// be a symbolic link, as names of secrets often are. Only the file behind it counts.
func Read(file string) ([]byte, error) { return read(file, nil) }

// ReadOwn is Read for a file that no other user can replace. Others must not be able to write to its folder or to
// the one above. Its name must not be a symbolic link, because the target may be in a folder of others.
func ReadOwn(file string) ([]byte, error) {
	folder := filepath.Dir(file)
	for _, folder := range []string{filepath.Dir(folder), folder} {
		info, err := os.Stat(folder)
		switch {
		case err != nil:
			return nil, err
		case runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0:
			return nil, fmt.Errorf("%s: %w", folder, ErrSharedFolder)
		}
	}
	named, err := os.Lstat(file)
	if err != nil {
		return nil, err
	}
	if named.Mode()&fs.ModeSymlink != 0 {
		return nil, fmt.Errorf("%s: a symbolic link, and not a file of this folder", file)
	}
	return read(file, named)
}

func read(file string, named fs.FileInfo) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat() // of the open file: the one at this path may be another by now
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: not a regular file", file)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0: // there the folder's access list decides
		return nil, fmt.Errorf("%s: %w", file, ErrShared)
	case named != nil && !os.SameFile(named, info):
		return nil, fmt.Errorf("%s: replaced while it was opened", file)
	}
	return io.ReadAll(io.LimitReader(f, maxFile))
}

// Write writes a text to a file that nobody else can read at any time. publish is
// os.Rename or os.Link, by which the whole file appears at once. So a program that
// waits for the file never reads half of it.
func Write(file string, text []byte, publish func(from, to string) error) error {
	part, err := os.CreateTemp(filepath.Dir(file), ".part-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(part.Name())
	_, err = part.Write(text)
	if err = errors.Join(err, part.Sync(), part.Close()); err != nil {
		return err
	}
	return publish(part.Name(), file)
}

// Keep creates a file, unless it exists, so that only its owner can read and write it. It
// takes the permissions of others away from an existing one, and from those with these ends.
func Keep(file string, ends ...string) error {
	// O_EXCL follows no symbolic link, not even one without a target.
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		err = f.Close()
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	for _, end := range append(ends, "") {
		if err := unshare(file + end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// unshare removes all permissions of a file except its owner's. It refuses symbolic
// links. Otherwise, whoever puts a link there could change the permissions of any file.
// It changes the file that it has opened, even if the name leads to another file by then.
func unshare(file string) error {
	named, err := os.Lstat(file)
	if err != nil {
		return err
	}
	if !named.Mode().IsRegular() {
		return fmt.Errorf("%s is a symbolic link, or no file: say the name of the file itself", file)
	}
	if named.Mode().Perm()&0o077 == 0 {
		return nil
	}
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("others may read it: %w", err)
	}
	defer f.Close()
	opened, err := f.Stat()
	if err == nil && !os.SameFile(named, opened) {
		err = fmt.Errorf("%s is another file by now", file)
	}
	if err == nil {
		err = f.Chmod(0o600)
	}
	if err != nil {
		return fmt.Errorf("others may read it: %w", err)
	}
	return nil
}

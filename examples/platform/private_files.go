package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// keepPrivate creates the file of a database, unless it exists, so that only its
// owner can read and write it. SQLite gives the files beside it the same
// permissions. If others may read or write an existing file, keepPrivate takes
// those permissions away.
func keepPrivate(file string) error {
	// O_EXCL follows no symbolic link, not even one without a target.
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		err = f.Close()
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	for _, kept := range []string{file, file + "-wal", file + "-shm", file + "-journal"} {
		if err := makePrivate(kept); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// makePrivate removes all permissions of a file except its owner's. It refuses
// symbolic links. Otherwise, whoever puts a link there could change the permissions
// of any file. It changes the file that it has opened, even if the name leads to
// another file by then.
func makePrivate(file string) error {
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

// readPrivate reads a file, and refuses one that others may read. The name may be a
// symbolic link, as names of secrets often are. Only the file behind it counts.
func readPrivate(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s can be read by others: chmod 600 %[1]s", file)
	}
	return io.ReadAll(f)
}

// writePrivate writes a text to a file that nobody else can read. publish is
// os.Rename or os.Link, by which the whole file appears at once. So a program that
// waits for the file never reads half of it.
func writePrivate(file string, text []byte, publish func(from, to string) error) error {
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

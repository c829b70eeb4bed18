package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// keepPrivate makes the file of a database that is not there yet, for nobody
// else to read: SQLite gives those beside it the same permissions. Files that
// others may read or write are taken away from them.
func keepPrivate(file string) error {
	// With O_EXCL no symbolic link is followed, one that leads nowhere neither.
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		err = f.Close()
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	for _, kept := range []string{file, file + "-wal", file + "-shm", file + "-journal"} {
		if err := takeFromOthers(kept); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// takeFromOthers leaves a file to its owner. It refuses symbolic links: who may put
// one there could have the permissions of any file changed. What is changed is the
// file that was opened, and not what has its name by then.
func takeFromOthers(file string) error {
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

// readPrivate reads a file, unless others may. The name may be a symbolic link, as
// those of secrets often are: what counts is the file that is read.
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

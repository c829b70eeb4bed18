package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"time"

	"github.com/tenantkit/tenantkit/paging/walk"
)

// progressEvery is how often a terminal shows the number of items.
const progressEvery = 100 * time.Millisecond

// print writes one item per line, and returns how many it has written. On a
// terminal it also shows that number on standard error.
func (c cli) print(items iter.Seq2[item, error]) (n int, err error) {
	shown := time.Now()
	defer func() { c.progress(n, "\n") }()
	for i, err := range items {
		if err != nil {
			return n, resumable(err)
		}
		var line bytes.Buffer
		if err := json.Compact(&line, i.text); err != nil {
			return n, err
		}
		line.WriteByte('\n')
		if _, err := c.out.Write(line.Bytes()); err != nil {
			return n, err
		}
		n++
		if time.Since(shown) >= progressEvery {
			// Back to the start of the line, which the next number overwrites.
			c.progress(n, "\r")
			shown = time.Now()
		}
	}
	return n, nil
}

func (c cli) progress(n int, end string) {
	if c.terminal {
		fmt.Fprintf(c.errs, "\x1b[K%d items%s", n, end)
	}
}

// resumable adds to an error the flag that continues the walk where it stopped.
func resumable(err error) error {
	stopped, ok := errors.AsType[*walk.Error](err)
	if !ok || stopped.After == "" {
		return err
	}
	return fmt.Errorf("%w\nto go on, add: -resume %s", err, quoted(stopped.After))
}

// isTerminal reports whether a file is a terminal or another character device.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

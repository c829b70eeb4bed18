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

// progressEvery is how often a terminal is told how far it is.
const progressEvery = 100 * time.Millisecond

// print writes one item a line, and returns how many. The number goes to
// standard error as well, if somebody is there to read it.
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
			// Back to the start of the line, for the next one to cover it.
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

// resumable adds to an error how to go on from where it happened.
func resumable(err error) error {
	stopped, ok := errors.AsType[*walk.Error](err)
	if !ok || stopped.After == "" {
		return err
	}
	return fmt.Errorf("%w\nto go on, add: -resume %s", err, quoted(stopped.After))
}

// isTerminal tells whether a file is a terminal, or passes for one.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

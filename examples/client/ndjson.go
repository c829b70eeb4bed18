package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/tenantkit/tenantkit/paging/walk"
)

// progressEvery is how often a terminal shows the number of items.
const progressEvery = 100 * time.Millisecond

// print writes one item per line, or a table, and returns how many it has written. If
// standard error is a terminal, it also shows that number there.
func (c cli) print(items iter.Seq2[item, error], asTable bool) (n int, err error) {
	shown, rows := time.Now(), table{c: c}
	write := c.printLine
	if asTable {
		write = rows.add
	}
	defer func() {
		err = errors.Join(err, rows.flush()) // what came before an error, too
		c.progress(n, "\n")
	}()
	for i, err := range items {
		if err != nil {
			return n, resumable(err)
		}
		if err := write(i.text); err != nil {
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

func (c cli) printLine(text []byte) error {
	var line bytes.Buffer
	if err := json.Compact(&line, text); err != nil {
		return err
	}
	line.WriteByte('\n')
	_, err := c.out.Write(line.Bytes())
	return err
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

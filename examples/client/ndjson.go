package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"strings"
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
		if err == nil {
			err = write(i.text)
		}
		if err != nil {
			return n, err
		}
		n++
		if time.Since(shown) >= progressEvery {
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

// progress shows a number. With "\r" the next number overwrites it.
func (c cli) progress(n int, end string) {
	if c.terminal {
		fmt.Fprintf(c.errs, "\x1b[K%d items%s", n, end)
	}
}

// stopped is the error of a walk that can go on after the position.
type stopped struct {
	error
	after string
}

func (s *stopped) Unwrap() error { return s.error }

// stoppedWalk returns what a walk of the list at an address returned, in the words of the
// other commands.
func stoppedWalk(address string, err error) error {
	failed, ok := errors.AsType[*walk.Error](err)
	if !ok {
		return err
	}
	if list, parsed := url.Parse(address); parsed == nil {
		address = list.Path
	}
	cause := failed.Err
	if sent := errors.Unwrap(cause); sent != nil && strings.HasPrefix(cause.Error(), "Get: ") { // GET says it
		cause = sent
	}
	err = fmt.Errorf("GET %s: %w", printable(address), cause)
	if failed.After == "" {
		return err
	}
	return &stopped{err, failed.After}
}

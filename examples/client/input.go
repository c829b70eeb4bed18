package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// input reads from another reader until ctx ends. A read of a terminal or a pipe does not
// end by itself when the user interrupts.
type input struct {
	ctx  context.Context
	from io.Reader
	left []byte // read, and not yet taken
}

// maxInput is how much is read at a time, in bytes.
const maxInput = 64 << 10

// Read implements io.Reader. After ctx has ended, it may leave a read waiting.
func (in *input) Read(p []byte) (int, error) {
	if len(in.left) == 0 {
		read, err := waitFor(in.ctx, func() ([]byte, error) {
			buffer := make([]byte, maxInput)
			n, err := in.from.Read(buffer)
			return buffer[:n], err
		})
		in.left = read
		if len(read) == 0 {
			return 0, err
		}
	}
	n := copy(p, in.left)
	in.left = in.left[n:]
	return n, nil
}

// waitFor returns what read does, or the error of ctx when it ends before.
func waitFor[T any](ctx context.Context, read func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := read()
		done <- result{value, err}
	}()
	select {
	case <-ctx.Done():
		return *new(T), ctx.Err()
	case r := <-done:
		return r.value, r.err
	}
}

// ask asks on the terminal for a line. The answer to a question for a secret is not shown.
func ask(ctx context.Context, prompt string, secret bool) (string, error) {
	terminal := int(os.Stdin.Fd())
	before, err := term.GetState(terminal)
	if err != nil {
		return "", err
	}
	fmt.Fprint(os.Stderr, prompt)
	answer, err := waitFor(ctx, func() (string, error) {
		if secret {
			text, err := term.ReadPassword(terminal)
			return string(text), err
		}
		return bufio.NewReader(os.Stdin).ReadString('\n') // a terminal gives one line at a time
	})
	if secret || ctx.Err() != nil {
		fmt.Fprintln(os.Stderr)
	}
	if ctx.Err() != nil {
		// The read still waits. It would leave a terminal that does not show what is typed.
		_ = term.Restore(terminal, before)
	}
	return strings.TrimSpace(answer), err
}

// isTerminal reports whether a file is a terminal.
func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

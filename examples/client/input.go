package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"
)

// input returns a reader that fails when ctx ends. A read of a terminal or a pipe does not
// end by itself when the user interrupts. Nothing is read before the first Read: the input
// of a command that needs none belongs to its caller.
func input(ctx context.Context, from io.Reader) io.Reader {
	out, in := io.Pipe()
	context.AfterFunc(ctx, func() { in.CloseWithError(ctx.Err()) })
	copying := sync.OnceFunc(func() {
		go func() {
			_, err := io.Copy(in, from)
			in.CloseWithError(err)
		}()
	})
	return readerFunc(func(p []byte) (int, error) {
		copying()
		return out.Read(p)
	})
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// ask asks on the terminal for a line. The answer to a question for a secret is not shown.
func ask(ctx context.Context, prompt string, secret bool) (string, error) {
	terminal := int(os.Stdin.Fd())
	before, err := term.GetState(terminal)
	if err != nil {
		return "", err
	}
	// A read of a terminal cannot be ended, and would leave one that does not show what is typed.
	defer context.AfterFunc(ctx, func() {
		_ = term.Restore(terminal, before)
		fmt.Fprintln(os.Stderr)
		os.Exit(statusInterrupted)
	})()
	fmt.Fprint(os.Stderr, prompt)
	if !secret {
		answer, err := bufio.NewReader(os.Stdin).ReadString('\n') // a terminal gives one line at a time
		return strings.TrimSpace(answer), err
	}
	answer, err := term.ReadPassword(terminal)
	fmt.Fprintln(os.Stderr)
	return strings.TrimSpace(string(answer)), err
}

// isTerminal reports whether a file is a terminal.
func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

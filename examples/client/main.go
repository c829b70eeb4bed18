// Client talks to a server of the service interface, with requests that package
// signing signs. It also checks scope chains. Run it with -help to see its
// commands. Start reading in commands.go; the help texts are in manual.go.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"

	"golang.org/x/term"

	"github.com/tenantkit/tenantkit/envelope"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second interrupt ends a command that waits for input
	c := cli{
		in: os.Stdin, out: os.Stdout, errs: os.Stderr,
		screen: isTerminal(os.Stdout), terminal: isTerminal(os.Stderr),
		getenv: os.Getenv, profiles: profilesFolder(), ask: askWithoutEcho,
	}
	status := c.status(c.run(ctx, os.Args[1:]))
	stop()
	os.Exit(status)
}

// cli holds what a command needs from its environment.
type cli struct {
	in        io.Reader
	out, errs io.Writer
	screen    bool // out is a terminal
	terminal  bool // errs is a terminal
	getenv    func(string) string
	profiles  string                       // folder of the profiles; "" if there is none
	ask       func(string) ([]byte, error) // prompts for a secret; nil: it is read from in
}

// usageError is an error in the command line.
type usageError string

func (e usageError) Error() string { return string(e) }

// status reports an error and returns the exit status for it.
func (c cli) status(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errDenied): // the answer has been printed
		return 1
	}
	if refused, ok := errors.AsType[*refusedJSON](err); ok {
		fmt.Fprintf(c.errs, "%s\n", refused.fault.Encode(""))
		return 1
	}
	fmt.Fprintln(c.errs, c.painted(c.terminal, red, "client:"), err)
	if errors.As(err, new(usageError)) {
		return 2
	}
	return 1
}

// refusedJSON is a fault that is printed as JSON, because -json was given.
type refusedJSON struct{ fault *envelope.Fault }

func (e *refusedJSON) Error() string { return e.fault.Error() }
func (e *refusedJSON) Unwrap() error { return e.fault }

// isTerminal reports whether a file is a terminal.
func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// askWithoutEcho prompts on the terminal for a secret. Without a terminal it reads
// nothing, and returns nil.
func askWithoutEcho(prompt string) ([]byte, error) {
	if !isTerminal(os.Stdin) {
		return nil, nil
	}
	fmt.Fprint(os.Stderr, prompt)
	defer fmt.Fprintln(os.Stderr)
	return term.ReadPassword(int(os.Stdin.Fd()))
}

// profilesFolder returns the folder of the profiles in the user's configuration, or ""
// if the user has none.
func profilesFolder() string {
	folder, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(folder, "tenantkit", "profiles")
}

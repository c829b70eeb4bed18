// Client talks to a server of the service interface, with requests that package
// signing signs. It also checks scope chains. Run it with --help to see its
// commands. Start reading in commands.go; the help texts are in manual.txt.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging/walk"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	ended := context.AfterFunc(ctx, func() {
		stop()                  // a second interrupt ends the program at once
		time.Sleep(time.Second) // for a command that can end by itself, and not one that reads
		os.Exit(cli{errs: os.Stderr}.status(&interrupted{ctx.Err()}))
	})
	c := cli{
		in: os.Stdin, out: os.Stdout, errs: os.Stderr,
		screen: isTerminal(os.Stdout), terminal: isTerminal(os.Stderr),
		getenv: os.Getenv, profiles: profilesFile(),
	}
	if isTerminal(os.Stdin) {
		c.askSecret = askSecret
	}
	status := c.status(c.run(ctx, os.Args[1:]))
	ended() // no interrupt ends the program now: its status is known
	os.Exit(status)
}

type cli struct {
	in        io.Reader
	out, errs io.Writer
	screen    bool // out is a terminal
	terminal  bool // errs is a terminal
	getenv    func(string) string
	profiles  string // file of the profiles; "" if there is none
	started   *bool  // set when a command line has turned out to be right
	query     *query // what of a reply to print

	// askSecret asks the user for a secret. It is nil if the user is not at a terminal.
	askSecret func(context.Context) (string, error)
}

type usageError string

func (e usageError) Error() string { return string(e) }

type interrupted struct{ err error }

func (e *interrupted) Error() string { return "interrupted" }
func (e *interrupted) Unwrap() error { return e.err }

// The exit statuses. A shell reports 130 for a program that an interrupt has ended. A script may try again
// what has reached no server; 7 is what curl has for that.
const (
	statusFailed      = 1
	statusUsage       = 2
	statusUnreachable = 7
	statusInterrupted = 130
)

func (c cli) status(err error) int {
	if err == nil {
		return 0
	}
	if errors.Is(err, errDenied) { // the answer has been printed
		return statusFailed
	}
	c.report(err)
	switch {
	case errors.As(err, new(*interrupted)):
		return statusInterrupted
	case errors.As(err, new(usageError)):
		return statusUsage
	case isUnreachable(err):
		return statusUnreachable
	}
	return statusFailed
}

// isUnreachable reports whether a request came to no server, or its answer did not come back.
func isUnreachable(err error) bool {
	sent, ok := errors.AsType[*url.Error](err)
	return errors.As(err, new(*net.OpError)) || ok && (sent.Timeout() || errors.Is(err, io.EOF))
}

func (c cli) report(err error) {
	rejected, ok := errors.AsType[*rejectedJSON](err)
	if ok && !errors.As(err, new(*interrupted)) {
		fmt.Fprintf(c.errs, "%s\n", rejected.Encode(""))
		return
	}
	fmt.Fprintln(c.errs, c.painted(c.terminal, red, "client:"), err)
	if failed, ok := errors.AsType[*walk.Error](err); ok && failed.After != "" {
		fmt.Fprintln(c.errs, "client list goes on with: --resume", quoted(failed.After))
	}
}

// rejectedJSON is a fault that is printed as JSON, because --json was given.
type rejectedJSON struct{ *envelope.Fault }

// profilesFile returns the file of the profiles in the user's configuration, or "" if the user
// has none.
func profilesFile() string {
	folder, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(folder, "tenantkit", "profiles.json")
}

// askSecret asks on the terminal for a secret, which is not shown.
func askSecret(ctx context.Context) (string, error) {
	terminal := int(os.Stdin.Fd())
	before, err := term.GetState(terminal)
	if err != nil {
		return "", err
	}
	// An interrupt would leave a terminal that does not show what is typed.
	defer context.AfterFunc(ctx, func() { _ = term.Restore(terminal, before) })()
	fmt.Fprint(os.Stderr, "secret, which is not shown: ")
	secret, err := term.ReadPassword(terminal)
	fmt.Fprintln(os.Stderr)
	return strings.TrimSpace(string(secret)), err
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

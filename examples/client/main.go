// Client talks to a server of the service interface, with requests signed by
// package signing. Run it with -help to see what it can do.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
)

const help = `client sends signed requests to a multi-tenant platform.

    client get PATH                  fetch a path below the org: /accounts/me
    client post PATH JSON            send JSON there; - reads it from standard input
    client sign METHOD PATH          print the headers of a signed request
    client sign -curl METHOD PATH    print a curl command that sends one

    client COMMAND -help             the flags of a command

It needs to know the server and a credential. Each is taken from the first of
these that has it:

    flags              -url -key -secret -account -header-prefix
    the environment    TENANTKIT_URL, TENANTKIT_KEY, TENANTKIT_SECRET,
                       TENANTKIT_ACCOUNT, TENANTKIT_HEADER_PREFIX
    a demo file        -demo-json FILE or TENANTKIT_DEMO_JSON: what the
                       reference server writes with its flag of that name

The URL has the org and the version: https://api.example.com/acme/v2. Other
users of the machine can read the flags of a process, so -secret is for demos.

Try it, in two terminals:

    go run ./examples/platform -demo-json /tmp/demo.json
    go run ./examples/client get -demo-json /tmp/demo.json '/c_messages?limit=3&paths[]=c_text'

A reply goes to standard output. A refusal goes to standard error, and the exit
status is 1; wrong usage is 2.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	c := cli{in: os.Stdin, out: os.Stdout, errs: os.Stderr, getenv: os.Getenv}
	err := c.run(ctx, os.Args[1:])
	var usage usageError
	switch {
	case err == nil:
	case errors.As(err, &usage):
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
}

// cli is what a command has of the world.
type cli struct {
	in        io.Reader
	out, errs io.Writer
	getenv    func(string) string
}

// usageError is a command line that cannot be meant.
type usageError string

func (e usageError) Error() string { return string(e) }

func (c cli) run(ctx context.Context, args []string) error {
	commands := map[string]func(context.Context, []string) error{
		"get":  c.get,
		"post": c.post,
		"sign": c.sign,
	}
	name := "help"
	if len(args) > 0 {
		name = args[0]
	}
	switch name {
	case "help", "-help", "--help", "-h":
		fmt.Fprint(c.out, help)
		return nil
	}
	command, ok := commands[name]
	if !ok {
		return usageError(fmt.Sprintf("no command %q; client -help lists them", name))
	}
	err := command(ctx, args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	return err
}

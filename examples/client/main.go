// Client talks to a server of the service interface, with requests that package
// signing signs. It also checks scope chains. Run it with -help to see its
// commands. The help texts are in this file and in manual.go.
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

const help = `client sends signed requests to a multi-tenant platform, and checks scope chains.

    client get PATH                  fetch a path below the org: /accounts/me
    client list -all PATH            print a list, one item a line, however long
    client post PATH JSON            send JSON there; - reads it from standard input
    client sign METHOD PATH          print the headers of a signed request
    client sign -curl METHOD PATH    print a curl command that sends one
    client mint [flags] ACCOUNT      print a new token that acts as an account
    client verify [TOKEN]            check a token by the published keys alone

    client scope check -grant CHAIN... NEED
                                     print whether the chains allow a need
    client scope check -batch        the same for each line of standard input:
                                     {"grants":["…"],"need":"…"}
    client scope explain -grant CHAIN... NEED
                                     say which chain decides, and why

    client COMMAND -help             what it does, an example, and its flags

To send or sign, it needs to know the server and a credential. Each is taken
from the first of these that has it:

    flags              -url -key -secret -account -header-prefix -signature
    the environment    TENANTKIT_URL, TENANTKIT_KEY, TENANTKIT_SECRET,
                       TENANTKIT_ACCOUNT, TENANTKIT_HEADER_PREFIX,
                       TENANTKIT_SIGNATURE
    a demo file        -demo-json FILE or TENANTKIT_DEMO_JSON: what the
                       reference server writes with its flag of that name

The URL has the org and the version: https://api.example.com/acme/v2. Other
users of the machine can read the flags of a process, so -secret is for demos.

Try it, in two terminals:

    go run ./examples/platform -demo-json /tmp/demo.json
    go run ./examples/client get -demo-json /tmp/demo.json '/c_messages?limit=3&paths[]=c_text'

    export TENANTKIT_DEMO_JSON=/tmp/demo.json
    go run ./examples/client mint -scope object.read.c_message -life 5m ACCOUNT_ID |
        go run ./examples/client verify

A list is walked page by page, however long it is. Filters and orders are those
of the interface, and each item is one line of JSON, for jq and its like:

    client list -all -paths c_text,c_likes -where '{"c_likes":{"$gte":40}}' /c_messages

Scopes need no server. A need is a chain; without an identifier it means every
instance:

    go run ./examples/client scope explain -grant 'object.read.c_message.*.c_text' object.read.c_message

In a flag, * is everything, and an empty chain is an error. A batch follows the
rules of tokens: "" is everything, too, and an empty or missing list grants
nothing. Each line gets one line, in order: {"allowed":true},
{"allowed":false}, or {"error":"…"} for what cannot be decided: a chain or a
need that does not parse or has an unknown root, null, and a line that is not
such an object.

A reply goes to standard output. A refusal goes to standard error, and the exit
status is 1, as it is for a need that is denied. Wrong usage is 2, and so is a
chain that does not parse.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second interrupt ends a command that waits for input
	c := cli{in: os.Stdin, out: os.Stdout, errs: os.Stderr, terminal: isTerminal(os.Stderr), getenv: os.Getenv}
	status := c.status(c.run(ctx, os.Args[1:]))
	stop()
	os.Exit(status)
}

// status reports an error and returns the exit status for it.
func (c cli) status(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errDenied): // the answer has been printed
		return 1
	}
	fmt.Fprintln(c.errs, "client:", err)
	if errors.As(err, new(usageError)) {
		return 2
	}
	return 1
}

// cli holds what a command needs from its environment.
type cli struct {
	in        io.Reader
	out, errs io.Writer
	terminal  bool // errs is a terminal
	getenv    func(string) string
}

// usageError is an error in the command line.
type usageError string

func (e usageError) Error() string { return string(e) }

func (c cli) run(ctx context.Context, args []string) error {
	commands := map[string]func(context.Context, []string) error{
		"get":    c.get,
		"list":   c.list,
		"post":   c.post,
		"sign":   c.sign,
		"scope":  c.scope,
		"mint":   c.mint,
		"verify": c.verify,
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

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// page is the help of a command, without the list of its flags.
type page struct {
	purpose   string // one line
	arguments string
	more      string // paragraphs; may be empty
	examples  string // one command line per line
}

// manual has a page for each command.
var manual = map[string]page{
	"get": {
		purpose:   "Fetches a path below the org, and prints the reply.",
		arguments: "[flags] PATH",
		examples:  `client get '/c_messages?limit=3&paths[]=c_text'`,
	},
	"list": {
		purpose:   "Prints the items of a list, one line of JSON each, however many pages they fill.",
		arguments: "[flags] PATH",
		more: `Pages follow each other by _id, or by the keys of -sort and then _id. So no
item is printed twice or missed while others are added and deleted. A busy
server is asked again. On a terminal, standard error shows how many items there
were so far. A walk that fails for good prints the position for -resume.
`,
		examples: `client list -all -paths c_text,c_likes -where '{"c_likes":{"$gte":40}}' /c_messages
client list -max 10 -sort '{"c_likes":-1}' -paths c_text /c_messages
client list -all -paths c_text -rest c_messages /c_conversations/ID`,
	},
	"post": {
		purpose:   "Sends JSON to a path below the org, and prints the reply.",
		arguments: "[flags] PATH JSON",
		more: `With - for JSON, it is read from standard input.
`,
		examples: `client post /c_messages '{"c_text":"hello"}'`,
	},
	"sign": {
		purpose:   "Prints the headers that make a request a signed one, for another program to send.",
		arguments: "[flags] METHOD PATH",
		more: `They are valid once, and only within the server's tolerance: usually five
minutes. Version 1 covers neither the query nor the body; -signature 2 covers
both, and the host and the account too.
`,
		examples: `client sign -curl GET /schemas
client sign -curl -signature 2 -data '{"c_text":"hello"}' POST /c_messages`,
	},
	"mint": {
		purpose:   "Asks the server for a token that acts as an account, and prints it.",
		arguments: "[flags] ACCOUNT",
		more: `Only the token is printed, so that the output can be piped. Without -permanent
or -uses the token is ephemeral: it has no id and expires by itself. The server
decides what you may ask for: you must be an administrator to mint for another
account than your own, or with -role. Without -scope the token may do what the
account's roles allow.
`,
		examples: `client mint -scope object.read.c_message -life 5m ID
client mint -scope '*' -uses 3 ID
client mint -permanent ID`,
	},
	"verify": {
		purpose:   "Checks a token with the keys that the server publishes, and prints its claims.",
		arguments: "[flags] [TOKEN]",
		more: `Any other service checks it in the same way. The command needs the URL for
which the token was made, and no credential. Without TOKEN, or with -, the
token is read from standard input, where other users of the machine do not see
it. Only the server knows whether a token with a jti was revoked or used up.
`,
		examples: `client mint -scope '*' ID | client verify`,
	},
	"scope check": {
		purpose:   "Says whether chains allow a need, without a server.",
		arguments: "[-grant CHAIN]... NEED | -batch",
		more: `The answer is "allowed", or "denied" and exit status 1. With -batch each line of
standard input is a question, {"grants":["…"],"need":"…"}, and gets one line.
`,
		examples: `client scope check -grant object.read.c_message -grant view object.read.c_message.*.c_text
echo '{"grants":["object.read"],"need":"object.read.c_message"}' | client scope check -batch`,
	},
	"scope explain": {
		purpose:   "Says which chain decides about a need, and why, without a server.",
		arguments: "[-grant CHAIN]... NEED",
		more: `A denial shows the nearest chain, and the segment at which it fails.
`,
		examples: `client scope explain -grant 'object.read.c_message.*.c_text' object.read.c_message`,
	},
}

// flagSet returns an empty flag set for a command. It prints nothing by itself:
// parseFlags prints the help to standard output.
func (c cli) flagSet(name string) *flag.FlagSet {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	return flags
}

// parseFlags reads the flags of a command. If help is asked for, it prints the help
// and returns flag.ErrHelp.
func (c cli) parseFlags(flags *flag.FlagSet, args []string) error {
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		c.printPage(flags)
		return err
	case err != nil:
		return usageError(fmt.Sprintf("%v; client %s -help lists the flags", err, flags.Name()))
	}
	return nil
}

func (c cli) printPage(flags *flag.FlagSet) {
	p := manual[flags.Name()]
	fmt.Fprintf(c.out, "%s\n\n    client %s %s\n\n", p.purpose, flags.Name(), p.arguments)
	if p.more != "" {
		fmt.Fprintln(c.out, p.more)
	}
	fmt.Fprint(c.out, "For example:\n\n")
	for line := range strings.Lines(p.examples) {
		fmt.Fprintf(c.out, "    %s\n", strings.TrimSpace(line))
	}
	fmt.Fprint(c.out, "\nFlags:\n\n")
	flags.SetOutput(c.out)
	flags.PrintDefaults()
	if flags.Lookup("url") != nil {
		fmt.Fprint(c.out, "\nWhere the server and the credential come from without flags: client -help\n")
	}
}

// checkArguments refuses a command line with another number of arguments after its
// flags.
func checkArguments(flags *flag.FlagSet, arguments int) error {
	if flags.NArg() != arguments {
		return usageError(fmt.Sprintf("%[1]s takes %[2]d arguments, flags first: client %[1]s %[3]s",
			flags.Name(), arguments, manual[flags.Name()].arguments))
	}
	return nil
}

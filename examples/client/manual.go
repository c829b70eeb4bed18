package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// page is what the help of a command says, beside its flags.
type page struct {
	purpose   string // one line
	arguments string
	more      string // paragraphs, may be empty
	examples  string // command lines, one a line
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
		more: `Pages follow each other by _id, or by what -sort names and then _id, so that no
item comes twice or not at all while others come and go. A server that is busy
is asked again. On a terminal, standard error says how many there were so far.
A walk that fails for good prints the position to -resume from.
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
		more: `They are good once, and for as long as the server's tolerance: five minutes as
a rule. The query and the body are not part of the signature.
`,
		examples: `client sign -curl GET /schemas
client sign -curl -data '{"c_text":"hello"}' POST /c_messages`,
	},
	"mint": {
		purpose:   "Asks the server for a token that acts as an account, and prints it.",
		arguments: "[flags] ACCOUNT",
		more: `It is printed alone, so that it can be piped. Without -permanent or -uses the
token is ephemeral: it has no id, and ends by itself. What may be asked for is
up to the server: for another account than your own, or with -role, you need to
be an administrator. Without -scope it may do what the account's roles allow.
`,
		examples: `client mint -scope object.read.c_message -life 5m ID
client mint -scope '*' -uses 3 ID
client mint -permanent ID`,
	},
	"verify": {
		purpose:   "Checks a token by the keys that the server publishes, and prints its claims.",
		arguments: "[flags] [TOKEN]",
		more: `Any other service would check it in the same way. It needs the URL, which must
be the one the token was made for, and no credential. Without TOKEN, or with -,
the token is read from standard input, where other users of the machine do not
see it. Only the server knows whether a token with a jti was revoked or used up.
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
// parseFlags does, as help goes to where it was asked for.
func (c cli) flagSet(name string) *flag.FlagSet {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	return flags
}

// parseFlags reads the flags of a command, and answers a question for help.
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

// takes refuses another number of arguments beside the flags.
func takes(flags *flag.FlagSet, arguments int) error {
	if flags.NArg() != arguments {
		return usageError(fmt.Sprintf("%[1]s takes %[2]d arguments, flags first: client %[1]s %[3]s",
			flags.Name(), arguments, manual[flags.Name()].arguments))
	}
	return nil
}

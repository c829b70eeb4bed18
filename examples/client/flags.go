package main

import (
	"flag"
	"fmt"
)

// flagSet returns an empty flag set for a command.
func (c cli) flagSet(name, arguments string) *flag.FlagSet {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(c.errs)
	flags.Usage = func() {
		fmt.Fprintf(c.errs, "usage: client %s %s\n", name, arguments)
		flags.PrintDefaults()
	}
	return flags
}

// flagError is what to return when flags do not parse.
func flagError(err error) error {
	if err == flag.ErrHelp {
		return err
	}
	return usageError(err.Error())
}

// takes refuses another number of arguments beside the flags.
func takes(flags *flag.FlagSet, arguments int) error {
	if flags.NArg() != arguments {
		flags.Usage()
		return usageError(fmt.Sprintf("%s takes %d arguments, flags first", flags.Name(), arguments))
	}
	return nil
}

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenantkit/tenantkit/examples/internal/onedash"
	"github.com/tenantkit/tenantkit/examples/internal/version"
)

// The limits of a load. They are enough to test a server of one's own, and too low
// for an attack.
const (
	maxDuration    = 10 * time.Minute
	maxConcurrency = 512
	maxRate        = 1_000_000
)

// defaultPaths are routes of the reference server that do different work. There are
// several, because signatures of one path in one millisecond are equal.
var defaultPaths = []string{
	"/accounts/me",
	"/connections?limit=10",
	"/c_messages?limit=10&paths[]=c_text",
	"/c_conversations?limit=10&paths[]=c_title",
}

// options are the values of the flags.
type options struct {
	credentials
	rate        float64 // per second; 0: as fast as possible
	concurrency int
	duration    time.Duration
	mix         mix
	paths       words
	expect      words // fault codes that do not make the run fail
	remote      bool
	json        bool
	pid         int
	svg         string
	compare     string
}

// root returns the command. It calls run with the options of a command line, if the load
// can be run.
func (p program) root(run func(context.Context, options) error) *cobra.Command {
	o := options{mix: mix{signed: 1, bearer: 1, session: 1}}
	flags := flag.NewFlagSet("loadgen", flag.ContinueOnError)
	o.define(flags)
	root := &cobra.Command{
		Use:           "loadgen",
		Short:         "Puts load on a server of the service interface.",
		Version:       version.Line("loadgen"),
		SilenceErrors: true, // status prints them
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError(unexpected(cmd, args[0]))
			}
			if err := o.complete(p.getenv); err != nil {
				return err
			}
			return run(cmd.Context(), o)
		},
	}
	root.Flags().AddGoFlagSet(flags)
	root.Flags().Bool("version", false, "print the version")
	root.SetOut(p.out)
	root.SetErr(p.errs)
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usageError(onedash.Fault(cmd, err)) })
	byCobra := root.HelpFunc() // of completion, say
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if cmd.HasParent() {
			byCobra(cmd, args)
			return
		}
		fmt.Fprint(p.out, help)
		flags.SetOutput(p.out)
		flags.PrintDefaults()
	})
	root.AddCommand(&cobra.Command{
		Use:   "version",
		Short: "Prints the version of this program.",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(p.out, version.Line("loadgen"))
			return err
		},
	})
	root.InitDefaultCompletionCmd()
	refuseOthers(root)
	return root
}

// refuseOthers makes the commands below root refuse a command that they do not have. By
// itself cobra prints its help for it, and reports success.
func refuseOthers(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		if cmd.HasSubCommands() {
			cmd.Args = cobra.ArbitraryArgs
			cmd.RunE = func(cmd *cobra.Command, args []string) error {
				if len(args) == 0 {
					return cmd.Help()
				}
				return usageError(unexpected(cmd, args[0]))
			}
		}
	}
}

// unexpected says that a word is no command.
func unexpected(cmd *cobra.Command, word string) string {
	var names []string
	for _, child := range cmd.Commands() {
		names = append(names, child.Name())
	}
	text := fmt.Sprintf("unexpected argument %q", word)
	if near := onedash.Nearest(word, names); near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	}
	return text
}

// complete adds what the flags left out. It returns an error if the load cannot be run.
func (o *options) complete(getenv func(string) string) error {
	if len(o.paths) == 0 {
		o.paths = defaultPaths
	}
	if err := o.credentials.fill(getenv); err != nil {
		return err
	}
	if err := o.validate(); err != nil {
		return usageError(err.Error())
	}
	return nil
}

func (o *options) define(flags *flag.FlagSet) {
	o.credentials.define(flags)
	flags.Float64Var(&o.rate, "rate", 0, "requests a `second` in all; 0 is as fast as possible")
	flags.IntVar(&o.concurrency, "concurrency", 8, "`requests` in flight at most")
	flags.DurationVar(&o.duration, "duration", 10*time.Second, "how long, with a unit: 30s, 1m30s; 10m at most")
	flags.Var(&o.mix, "mix", "`shares` of the kinds of credential")
	flags.Var(&o.paths, "path", "`path` below the org to fetch, with its query; repeat it for more (default: four of the reference server)")
	flags.Var(&o.expect, "expect", "expected fault `code`, without the namespace: throttled.unspecified; repeat it for more")
	flags.BoolVar(&o.remote, "remote", false, "allow a URL of another machine; use it only for a server of your own")
	flags.BoolVar(&o.json, "json", false, "print the report as one JSON object")
	flags.StringVar(&o.svg, "svg", "", "`file` for a chart of the run, second by second, as SVG")
	flags.StringVar(&o.compare, "compare", "", "`file` with what -json printed of an earlier run, to compare this one with")
	flags.IntVar(&o.pid, "pid", 0, "`process` id on this machine, such as the server's, whose memory and CPU to watch")
}

func (o *options) validate() error {
	switch {
	case o.duration <= 0 || o.duration > maxDuration:
		return fmt.Errorf("-duration is more than 0 and at most %v", maxDuration)
	case o.concurrency < 1 || o.concurrency > maxConcurrency:
		return fmt.Errorf("-concurrency is 1 to %d", maxConcurrency)
	case !(o.rate >= 0 && o.rate <= maxRate): // this form refuses NaN, too
		return fmt.Errorf("-rate is 0 to %d", maxRate)
	case o.pid < 0:
		return errors.New("-pid is the number of a process")
	}
	for _, path := range o.paths {
		if !strings.HasPrefix(path, "/") {
			return fmt.Errorf("-path %q: a path begins with /", path)
		}
	}
	if err := o.credentials.cover(o.mix); err != nil {
		return err
	}
	return checkTargets(o.urls, o.remote)
}

// words is a flag that may be repeated.
type words []string

func (w *words) String() string { return strings.Join(*w, " ") }

func (w *words) Set(word string) error {
	if word == "" {
		return errors.New("empty")
	}
	*w = append(*w, word)
	return nil
}

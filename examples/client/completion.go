package main

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenantkit/tenantkit/envelope"
)

// schema is what GET /schemas says of a kind of objects.
type schema struct {
	Plural     string `json:"plural"`
	Properties []struct {
		Path     string `json:"fqpp"`
		Sortable bool   `json:"sortable"`
	} `json:"properties"`
}

// offer offers a shell what flags and arguments can be: the lists that the server has as PATH, and their
// properties to --paths and --sort.
func (c cli) offer(cmd *cobra.Command, to *connection) {
	_ = cmd.RegisterFlagCompletionFunc("profile", c.profileNames)
	_ = cmd.RegisterFlagCompletionFunc("signature", cobra.FixedCompletions([]string{"1", "2"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.MarkFlagFilename("demo-json")
	if _, arguments, _ := strings.Cut(cmd.Use, " "); !strings.HasPrefix(arguments, "PATH") {
		return
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) (paths []string, _ cobra.ShellCompDirective) {
		if len(args) == 0 {
			for _, s := range c.schemas(cmd.Context(), to) {
				paths = append(paths, "/"+s.Plural)
			}
		}
		return paths, cobra.ShellCompDirectiveNoFileComp
	}
	properties := func(sortable bool) cobra.CompletionFunc {
		return func(cmd *cobra.Command, args []string, typed string) (names []string, _ cobra.ShellCompDirective) {
			before := typed[:strings.LastIndexByte(typed, ',')+1]
			for _, s := range c.schemas(cmd.Context(), to) {
				for _, p := range s.Properties {
					if len(args) > 0 && strings.Trim(args[0], "/") == s.Plural && (p.Sortable || !sortable) {
						names = append(names, before+p.Path)
					}
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		}
	}
	if cmd.Flags().Lookup("paths") != nil {
		_ = cmd.RegisterFlagCompletionFunc("paths", properties(false))
		_ = cmd.RegisterFlagCompletionFunc("sort", properties(true))
	}
}

// schemas returns those that the server names in the short time that somebody waits for a completion.
func (c cli) schemas(ctx context.Context, to *connection) []schema {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	var all envelope.List[schema]
	if to.complete(c) != nil || to.fetch(ctx, http.MethodGet, "/schemas?limit=1000", "", &all) != nil {
		return nil
	}
	return all.Data
}

package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the generated parts of pages")

// TestGenerated compares the reference of the server below its first section with the flags and the
// OpenAPI document. With -update it writes them.
func TestGenerated(t *testing.T) {
	const document, begin = "../guides/reference/server.md", "\n## Flags\n"
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	byHand, _, ok := strings.Cut(string(text), begin)
	if !ok {
		t.Fatalf("%s has no flags", document)
	}
	want := byHand + begin + flagTable(t) + routeTables(t)
	if *update {
		if err := os.WriteFile(document, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(text) != want {
		t.Errorf("%s has other flags or routes than the server. Run: go test -run TestGenerated ./internal/docs ./examples/platform -update", document)
	}
}

// printedFlag matches a flag of the help: its name, the name of its value, and its usage.
var printedFlag = regexp.MustCompile(`(?m)^  -(\S+)(?: (\S+))?\n    \t(.+)$`)

func flagTable(t *testing.T) string {
	t.Helper()
	o, err := parseFlags([]string{"-help"}, io.Discard)
	if !errors.Is(err, flag.ErrHelp) {
		t.Fatal(err)
	}
	table := "\n| flag | value | meaning |\n|---|---|---|\n"
	found := printedFlag.FindAllStringSubmatch(o.help, -1)
	if all := strings.Count(o.help, "\n  -"); len(found) != all {
		t.Errorf("%d flags of %d are found: has the form of the help changed?", len(found), all)
	}
	for _, f := range found {
		table += fmt.Sprintf("| `-%s` | %s | %s |\n", f[1], f[2], strings.ReplaceAll(f[3], "|", `\|`))
	}
	return table
}

// operation is what the tables have of an operation of the OpenAPI document.
type operation struct {
	Summary, Description string
	Tags                 []string
	RequestBody          struct {
		Content map[string]struct{ Schema schemaOfBody }
	}
}

type schemaOfBody struct {
	Ref        string `json:"$ref"`
	Properties map[string]json.RawMessage
	Required   []string
}

// routeTables returns a table of the routes below each first segment of a path.
func routeTables(t *testing.T) string {
	t.Helper()
	p := parts(t, io.Discard)
	p.routes() // makes the document
	text, err := p.document.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Tags       []struct{ Name string }
		Paths      map[string]map[string]operation
		Components struct{ Schemas map[string]schemaOfBody }
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	var tables strings.Builder
	routes := 0
	for _, operations := range document.Paths {
		routes += len(operations)
	}
	for _, tag := range document.Tags {
		fmt.Fprintf(&tables, "\n## /%s\n\n| request | what it does | members of the body | rules |\n|---|---|---|---|\n", tag.Name)
		for _, path := range slices.Sorted(maps.Keys(document.Paths)) {
			for _, method := range []string{"get", "post", "patch", "delete"} {
				if o, ok := document.Paths[path][method]; ok && slices.Contains(o.Tags, tag.Name) {
					cells := []string{"`" + strings.ToUpper(method) + " " + path + "`", o.Summary, o.members(document.Components.Schemas), strings.Join(strings.Fields(o.Description), " ")}
					routes--
					tables.WriteString("| " + strings.ReplaceAll(strings.Join(cells, "\x00"), "|", `\|`) + " |\n")
				}
			}
		}
	}
	if routes != 0 {
		t.Errorf("%d operations are in no table, or in more than one", routes)
	}
	return strings.ReplaceAll(tables.String(), "\x00", " | ")
}

// members returns the members of the body, those that are required first and in bold.
func (o operation) members(schemas map[string]schemaOfBody) string {
	var names, others []string
	for _, content := range o.RequestBody.Content {
		schema := content.Schema
		if name, ok := strings.CutPrefix(schema.Ref, "#/components/schemas/"); ok {
			schema = schemas[name]
		}
		for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
			if slices.Contains(schema.Required, name) {
				names = append(names, "**`"+name+"`**")
			} else {
				others = append(others, "`"+name+"`")
			}
		}
	}
	return strings.Join(append(names, others...), ", ")
}

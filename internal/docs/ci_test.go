package docs_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestPathsHaveSteps checks the table of .ci/run. Each path of the repository has a step, and each of
// these is a step. A package that a step tests, or that such a package imports, has that step.
func TestPathsHaveSteps(t *testing.T) {
	t.Chdir(root)
	if runtime.GOOS == "windows" {
		t.Skip("bash of Windows has other paths")
	}
	tracked, err := exec.Command("git", "ls-files").Output()
	if err != nil {
		t.Skip("not in a clone: ", err)
	}
	functions := read(t, ".ci/run")
	steps := map[string][]string{}
	for line := range strings.Lines(run(t, string(tracked), "bash", ".ci/run", "paths")) {
		path, names, _ := strings.Cut(strings.TrimSpace(line), ":")
		steps[path] = strings.Fields(names)
		if len(steps[path]) == 0 {
			t.Errorf("%s has no step in steps_of of .ci/run", path)
		}
		for _, name := range steps[path] {
			if !strings.Contains(functions, "\nstep_"+name+"() ") {
				t.Errorf("%s has the step %s, which .ci/run does not have", path, name)
			}
		}
	}
	const generated = "examples/guides/reference/server.md"
	if !slices.Contains(steps[generated], "platform") { // a test of it reads this
		t.Errorf("%s has the steps %q", generated, steps[generated])
	}
	light, examples, enginetest := "./...", "./examples/...", "./internal/enginetest"
	for step, packages := range map[string][]string{
		"race":     {light, examples},
		"core":     {light},
		"platform": {"./examples/platform"},
		"engines":  {enginetest, "./examples/platform"}, // TestFleet builds it
		"interop":  {"./examples/platform"},
		"browser":  {"./examples/platform", "./examples/client"}, // show.mjs runs the client
	} {
		for _, p := range depsOf(t, step != "browser" && step != "interop", packages...) {
			files := p.GoFiles
			if p.Dir != filepath.Join("examples", "platform") || step == "platform" || step == "browser" { // others open no console
				files = append(files, p.EmbedFiles...)
			}
			for _, file := range files {
				file = filepath.ToSlash(filepath.Join(p.Dir, file))
				if got, known := steps[file]; known && !slices.Contains(got, step) {
					t.Errorf("%s can fail the step %s, but steps_of of .ci/run does not say so", file, step)
				}
			}
		}
	}
}

type dependency struct {
	Dir                 string // relative to the root
	Standard            bool
	GoFiles, EmbedFiles []string
}

// depsOf returns our packages among some packages and all that they import, with or without their
// tests. It needs the workspace.
func depsOf(t *testing.T, tests bool, packages ...string) (all []dependency) {
	t.Helper()
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"list", "-deps", "-test=" + strconv.FormatBool(tests), "-json=Dir,Standard,GoFiles,EmbedFiles"}, packages...)
	decoder := json.NewDecoder(strings.NewReader(run(t, "", "go", args...)))
	for {
		var p dependency
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		if below, err := filepath.Rel(root, p.Dir); err == nil && !p.Standard && !strings.HasPrefix(below, "..") {
			p.Dir = below
			all = append(all, p)
		}
	}
}

func run(t *testing.T, input, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v", cmd, err)
	}
	return string(out)
}

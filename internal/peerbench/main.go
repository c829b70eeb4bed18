// Command peerbench times this module beside other modules with the same task, in one
// run on one machine. It writes the report RESULTS.md and its plots.
//
//	GOWORK=off go run . -o RESULTS.md
//
// Run it in its own folder, on an otherwise idle machine.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	log.SetFlags(0)
	out := flag.String("o", "RESULTS.md", "the report; its plots are written beside it")
	quick := flag.Bool("quick", false, "one short pass over small tables: a check of the code, not of the figures")
	base := flag.String("compare", "", "an earlier report: fail if ours is slower beside its floors, or allocates more")
	flag.Parse()
	if err := run(*out, *base, *quick); err != nil {
		log.Fatal("peerbench: ", err)
	}
}

func run(out, base string, quick bool) error {
	var before []byte
	if base != "" {
		var err error
		if before, err = os.ReadFile(base); err != nil { // before out replaces it
			return err
		}
	}
	m, err := machineOf()
	if err != nil {
		return err
	}
	e := effortOf(quick)
	folder, err := os.MkdirTemp("", "peerbench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	binaries := map[string]string{}
	for _, toolchain := range toolchains() {
		binary := filepath.Join(folder, "peerbench"+toolchain+".test")
		if _, err := goCommand(toolchain, "test", "-c", "-o", binary, "."); err != nil {
			return err
		}
		binaries[toolchain] = binary
	}
	measured, err := e.measure(binaries)
	if err != nil {
		return err
	}
	m.cpu, m.end = measured.cpu, now()
	for _, d := range m.disturbances() {
		log.Print("disturbed: ", d)
	}
	after := report{e, m, measured}.markdown()
	beside := func(name string) string { return filepath.Join(filepath.Dir(out), name) }
	err = errors.Join(
		os.WriteFile(out, after, 0o644),
		os.WriteFile(beside("scope.svg"), scopePlot(measured, "Scope check", scopePrefix).svg(), 0o644),
		os.WriteFile(beside("scopetext.svg"), scopePlot(measured, "Scope check by text", scopeTextPrefix).svg(), 0o644),
		os.WriteFile(beside("paging.svg"), pagingPlot(measured, e.rows).svg(), 0o644),
		os.WriteFile(beside("growth.svg"), growthPlot(measured, e.live).svg(), 0o644),
	)
	if base != "" {
		err = errors.Join(err, compare(before, after))
	}
	if !quick {
		err = errors.Join(err, quotable(after))
	}
	return err
}

// goCommand runs the go command in this module alone, with a toolchain if one is named.
func goCommand(toolchain string, args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	if toolchain != "" {
		cmd.Env = append(cmd.Env, "GOTOOLCHAIN="+toolchain)
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}

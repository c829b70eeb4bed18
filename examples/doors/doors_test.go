// Package doors tests the small programs in its folders.
package doors

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestDoors runs each program, and compares what it prints with the comment at its end. Those that the
// README calls small have at most 30 lines of code.
func TestDoors(t *testing.T) {
	programs, err := filepath.Glob("*/main.go")
	if err != nil || len(programs) == 0 {
		t.Fatal("no programs: ", err)
	}
	for _, program := range programs {
		t.Run(filepath.Dir(program), func(t *testing.T) {
			text, err := os.ReadFile(program)
			if err != nil {
				t.Fatal(err)
			}
			code, printed, _ := strings.Cut(string(text), "\n// It prints:\n")
			want := strings.ReplaceAll(strings.TrimPrefix(printed, "// "), "\n// ", "\n")
			got, err := exec.Command("go", "run", "./"+filepath.Dir(program)).CombinedOutput()
			if err != nil || string(got) != want {
				t.Errorf("%v, printed:\n%s\nwant:\n%s", err, got, want)
			}
			if lines := linesOf(code); lines > 30 && filepath.Dir(program) != "transaction" {
				t.Errorf("%d lines", lines)
			}
		})
	}
}

// linesOf counts the lines that are neither empty nor a comment.
func linesOf(code string) (n int) {
	for line := range strings.Lines(code) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			n++
		}
	}
	return n
}

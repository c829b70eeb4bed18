package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMain lets the binary of the tests be the program itself.
func TestMain(m *testing.M) {
	if os.Getenv("RUN_CLIENT") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// programFolder returns a folder with the program in it, for a shell.
func programFolder(t *testing.T) string {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	script := "#!/bin/sh\nRUN_CLIENT=1 exec '" + binary + "' \"$@\"\n"
	if err := os.WriteFile(filepath.Join(folder, "client"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return folder
}

// interruptedBatch interrupts a batch that has answered a line and waits for the next one.
const interruptedBatch = `
mkfifo $HOME/in; exec 3<>$HOME/in
echo '{"grants":[],"need":"admin"}' >&3
client scope check --batch <&3 >$HOME/out &
until [[ -s $HOME/out ]]; do sleep 0.02; done
kill -INT $!; wait $!; status=$?
cat $HOME/out; echo $status`

// TestProgram runs the program in a shell: what it does with signals, pipes and statuses.
func TestProgram(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip(err)
	}
	folder, env := programFolder(t), strings.Split(new(listing).start(t), "\n")
	for _, test := range []struct{ name, script, out, errs string }{
		{"a reader that has seen enough", "client list --all /notes | head -n 1; echo ${PIPESTATUS[1]}", lines(below(1)) + "0\n", ""},
		{"no colours and no table in a pipe", "client list --max 1 /notes", lines(below(1)), ""},
		{"wrong usage", "client verfy; echo $?", "2\n", "client: unknown command \"verfy\" for \"client\"\n\nDid you mean this?\n\tverify\n\nRun 'client --help' for usage.\n"},
		{"a misspelled check is not taken for allowed", "client scope chek; echo $?", "2\n", "client: unknown command \"chek\" for \"client scope\"\nRun 'client scope --help' for usage.\n"},
		{"a need that is denied", "client scope check admin; echo $?", "denied\n1\n", ""},
		{"an interrupt", interruptedBatch, "{\"allowed\":false}\n130\n", "client: interrupted\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			bash := exec.Command("bash", "--norc", "-c", test.script)
			bash.Env = append(os.Environ(), append(env, "PATH="+folder+":"+os.Getenv("PATH"), "XDG_CONFIG_HOME="+folder, "HOME="+folder)...)
			var out, errs bytes.Buffer
			bash.Stdout, bash.Stderr = &out, &errs
			bash.WaitDelay = 5 * time.Second
			if err := bash.Run(); err != nil {
				t.Error(err)
			}
			if out.String() != test.out || errs.String() != test.errs {
				t.Errorf("printed %q and %q", &out, &errs)
			}
		})
	}
}

func TestInterrupts(t *testing.T) {
	t.Run("a list ends with status 130 and its position", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		var out, errs bytes.Buffer
		stop := writerFunc(func(p []byte) (int, error) {
			cancel(errors.New("interrupt signal received"))
			return out.Write(p)
		})
		c := cli{out: stop, errs: &errs, getenv: lookup(new(listing).start(t))}
		status := c.status(c.run(ctx, []string{"list", "--all", "--limit", "60", "/notes"}))
		said := errs.String()
		if status != 130 || !strings.HasPrefix(said, "client: interrupted\nclient list goes on with: --resume '") || strings.Count(said, "\n") != 2 {
			t.Errorf("status %d: %s", status, said)
		}
		if got := strings.Count(out.String(), "\n"); got == 0 || got > 60 {
			t.Errorf("%d items", got)
		}
	})
}

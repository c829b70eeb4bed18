package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

func TestInterrupts(t *testing.T) {
	t.Run("a list ends with status 130 and its position", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		var out, errs bytes.Buffer
		stop := writerFunc(func(p []byte) (int, error) {
			cancel(errors.New("interrupt signal received"))
			return out.Write(p)
		})
		c := cli{out: stop, errs: &errs, getenv: lookup(new(listing).start(t))}
		status := c.status(c.run(ctx, []string{"list", "-all", "-limit", "60", "/notes"}))
		said := errs.String()
		if status != 130 || !strings.HasPrefix(said, "client: interrupted\nto go on, add: -resume '") || strings.Count(said, "\n") != 2 {
			t.Errorf("status %d: %s", status, said)
		}
		if got := strings.Count(out.String(), "\n"); got == 0 || got > 60 {
			t.Errorf("%d items", got)
		}
	})
	for name, args := range map[string][]string{
		"a batch that waits for input":  {"scope", "check", "-batch"},
		"a token that is awaited":       {"verify", "-url", "http://127.0.0.1:1/acme/v2", "-"},
		"JSON that is awaited":          {"post", "-url", "http://127.0.0.1:1/acme/v2", "-key", key, "-secret", "s", "/echo", "-"},
		"a secret that login waits for": {"login", "-url", "http://127.0.0.1:1/acme/v2", "-key", key},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(10*time.Millisecond, cancel)
			silent, hold := io.Pipe()
			defer hold.Close()
			var errs bytes.Buffer
			c := cli{in: &input{ctx: ctx, from: silent}, out: io.Discard, errs: &errs, getenv: lookup(""), profiles: t.TempDir()}
			if status := c.status(c.run(ctx, args)); status != 130 || errs.String() != "client: interrupted\n" {
				t.Errorf("status %d: %s", status, &errs)
			}
		})
	}
}

// TestInput reads in small parts what came in large ones.
func TestInput(t *testing.T) {
	text := strings.Repeat("a line\n", 20_000)
	for _, size := range []int{1, 7, 1000, maxInput + 1} {
		var read bytes.Buffer
		in := &input{ctx: t.Context(), from: strings.NewReader(text)}
		if _, err := io.CopyBuffer(&read, struct{ io.Reader }{in}, make([]byte, size)); err != nil || read.String() != text {
			t.Errorf("%d bytes at a time: %v, %d bytes", size, err, read.Len())
		}
	}
}

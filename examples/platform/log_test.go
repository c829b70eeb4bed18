package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"strings"
	"testing"
	"time"
)

func TestLogLevels(t *testing.T) {
	t.Parallel()
	for level, want := range map[string]int{"debug": 4, "info": 3, "warn": 2, "error": 1} {
		o, err := parseFlags([]string{"-log-level", level}, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		log := o.newLog(&out)
		log.Debug("d")
		log.Info("i")
		log.Warn("w")
		log.Error("e")
		if got := strings.Count(out.String(), "\n"); got != want {
			t.Errorf("%s: %d lines, want %d", level, got, want)
		}
	}
}

// TestLogOfMilliseconds reads what -log json writes of a duration: a number with its unit
// in the name. The text has the unit in the value.
func TestLogOfMilliseconds(t *testing.T) {
	t.Parallel()
	o := options{log: "json"}
	var out bytes.Buffer
	o.newLog(&out).Info("request", "took", 1500*time.Microsecond, "status", 200)
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	if line["took_ms"] != 1.5 || line["took"] != nil || line["status"] != 200.0 {
		t.Errorf("%s", out.String())
	}
	out.Reset()
	o.log = "text"
	o.newLog(&out).Info("request", "took", 1500*time.Microsecond)
	if !strings.Contains(out.String(), "took=1.5ms") {
		t.Errorf("%s", out.String())
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-help"}, {"--help"}, {"-h"}} {
		var stderr bytes.Buffer
		o, err := parseFlags(args, &stderr)
		if !errors.Is(err, flag.ErrHelp) || !strings.HasPrefix(o.help, help) || !strings.Contains(o.help, "-log-level level") || stderr.Len() > 0 {
			t.Errorf("%v: %v\n%s\n%s", args, err, o.help, &stderr)
		}
	}
}

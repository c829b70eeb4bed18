package redisstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/redisstore"
)

func TestOpenRefusesWhatBreaksAPromise(t *testing.T) {
	forbidden := func(string) (any, error) {
		return nil, errors.New("NOPERM this user has no permissions to run the 'config|get' command")
	}
	for _, c := range []struct {
		name    string
		from    string // replaced in the text of INFO
		to      string
		config  func(string) (any, error)
		options redisstore.Options
		want    []string // settings that Open refuses
	}{
		{name: "fit"},
		{name: "evicts", from: "noeviction", to: "allkeys-lru", want: []string{"maxmemory-policy"}},
		{name: "evicts, asked for", from: "noeviction", to: "volatile-ttl", options: redisstore.Options{UnsafeEviction: true}},
		{name: "a replica", from: "role:master", to: "role:slave", want: []string{"role"}},
		{name: "INFO does not say whether it is a cluster", from: "cluster_enabled:0\r\n", want: []string{"cluster-enabled"}},
		{name: "no append-only file", from: "aof_enabled:1", to: "aof_enabled:0", want: []string{"appendonly"}},
		{name: "no append-only file, asked for", from: "aof_enabled:1", to: "aof_enabled:0",
			options: redisstore.Options{UnsafeNoAppendOnly: true}},
		{name: "does not sync", config: func(s string) (any, error) { return []any{s, []byte("no")}, nil }, want: []string{"appendfsync"}},
		{name: "does not sync while it rewrites the file", config: func(s string) (any, error) {
			return []any{s, map[string]string{"appendfsync": "always", "no-appendfsync-on-rewrite": "yes"}[s]}, nil
		}, want: []string{"no-appendfsync-on-rewrite"}},
		{name: "syncs always", config: func(s string) (any, error) { return map[any]any{s: configuredValue(s, "always")}, nil }},
		{name: "syncs always, by a client of names and values", config: func(s string) (any, error) { return map[string]any{s: configuredValue(s, "always")}, nil }},
		{name: "CONFIG is forbidden", config: forbidden, want: []string{"appendfsync", "no-appendfsync-on-rewrite"}},
		{name: "CONFIG is forbidden, taken for right", config: forbidden, options: redisstore.Options{UnsafeUnknown: true}},
		{name: "CONFIG answers nothing", config: func(string) (any, error) { return []any{}, nil }, want: []string{"appendfsync", "no-appendfsync-on-rewrite"}},
		{name: "INFO lacks a setting and CONFIG has it", from: "aof_enabled:1\r\n", config: func(s string) (any, error) {
			return []any{s, configuredValue(s, "everysec")}, nil
		}},
		{name: "INFO has a line with the name of a setting, which it does not tell", from: "aof_enabled:1", to: "aof_enabled:1\r\nappendfsync:always",
			config: func(s string) (any, error) { return []any{s, "no"}, nil }, want: []string{"appendfsync"}},
		{name: "an unknown setting is not taken for another's option", config: forbidden,
			options: redisstore.Options{UnsafeEviction: true}, want: []string{"appendfsync", "no-appendfsync-on-rewrite"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &server{info: strings.Replace(fit, c.from, c.to, 1), config: c.config}
			if c.config == nil {
				s.config = everysec
			}
			_, err := redisstore.Open(t.Context(), s.do, c.options)
			if diff := cmp.Diff(c.want, refused(err)); diff != "" {
				t.Errorf("refused (-want +got):\n%s\n%v", diff, err)
			}
		})
	}
}

// refused returns the refused settings, and fails if one has no remedy.
func refused(err error) (all []string) {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	for _, err := range joined.Unwrap() {
		var s *auth.SettingError
		if errors.As(err, &s) && s.Remedy != "" && strings.Contains(err.Error(), s.Setting) && strings.Contains(err.Error(), s.Remedy) {
			all = append(all, s.Setting)
		}
	}
	return all
}

func TestOpenTellsAllThatIsWrongAtOnce(t *testing.T) {
	s := &server{info: strings.NewReplacer("noeviction", "allkeys-lru", "master", "slave").Replace(fit), config: everysec}
	_, err := redisstore.Open(t.Context(), s.do, redisstore.Options{})
	if diff := cmp.Diff([]string{"role", "maxmemory-policy"}, refused(err)); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
}

func TestOpenFailsWithAnAnswerOfAnotherKind(t *testing.T) {
	s := &server{info: fit, config: everysec}
	do := func(ctx context.Context, args ...any) (any, error) {
		if args[0] == "INFO" {
			return int64(1), nil
		}
		return s.do(ctx, args...)
	}
	if _, err := redisstore.Open(t.Context(), do, redisstore.Options{UnsafeUnknown: true}); err == nil {
		t.Error("opened")
	}
}

func TestOpenFailsWithoutAnAnswer(t *testing.T) {
	down := errors.New("connection refused")
	for _, command := range []string{"INFO", "CONFIG", "EVALSHA", "EVAL"} {
		t.Run(command, func(t *testing.T) {
			s := &server{info: fit, config: everysec}
			do := func(ctx context.Context, args ...any) (any, error) {
				if args[0] == command {
					return nil, down
				}
				return s.do(ctx, args...)
			}
			if _, err := redisstore.Open(t.Context(), do, redisstore.Options{UnsafeUnknown: true}); !errors.Is(err, down) {
				t.Errorf("Open = %v, want %v", err, down)
			}
		})
	}
}

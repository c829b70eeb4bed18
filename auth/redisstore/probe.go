package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// SettingError is a setting of the server that breaks a promise of the stores.
type SettingError struct {
	Setting string // "maxmemory-policy"
	Value   string // what the server has; "unknown" if it does not tell
	Remedy  string // what to set instead, and which option accepts it as it is
}

func (e *SettingError) Error() string {
	return fmt.Sprintf("redisstore: %s is %s: %s", e.Setting, e.Value, e.Remedy)
}

// settings are the server's, by the names in rules.
type settings map[string]string

const unknown = "unknown"

// rule is a setting, where INFO has it, and what is right.
type rule struct {
	setting string
	info    string // empty: only CONFIG GET tells
	right   []string
	remedy  string
	lifted  func(Options) bool
}

// forAll is what every store needs.
var forAll = []rule{
	{"role", "role", []string{"master"}, "connect to the primary", func(Options) bool { return false }},
	{"cluster-enabled", "cluster_enabled", []string{"no"}, "use a server that is no part of a cluster, or set UnsafeCluster",
		func(o Options) bool { return o.UnsafeCluster }},
	{"maxmemory-policy", "maxmemory_policy", []string{"noeviction"},
		"run CONFIG SET maxmemory-policy noeviction and set it in the server's configuration, or set UnsafeEviction",
		func(o Options) bool { return o.UnsafeEviction }},
}

// forRecords is what the ledger and sessions need besides: a server without it
// forgets, or comes back with what was ended since a snapshot.
var forRecords = []rule{
	{"appendonly", "aof_enabled", []string{"yes"},
		"run CONFIG SET appendonly yes and set it in the server's configuration, or set UnsafeNoAppendOnly",
		func(o Options) bool { return o.UnsafeNoAppendOnly }},
	{"appendfsync", "", []string{"everysec", "always"},
		"run CONFIG SET appendfsync everysec, or always, and set it in the server's configuration, or set UnsafeNoAppendOnly",
		func(o Options) bool { return o.UnsafeNoAppendOnly }},
}

// spelled has what INFO says as CONFIG GET says it.
var spelled = map[string]string{"1": "yes", "0": "no"}

// probe asks for all settings. What the server does not tell is unknown: many
// hosted ones forbid CONFIG.
func probe(ctx context.Context, do Do) (settings, error) {
	reply, err := do.call(ctx, "INFO")
	if err != nil {
		return nil, fmt.Errorf("%w (the stores need the command INFO)", err)
	}
	info, ok := text(reply)
	if !ok {
		return nil, errReply
	}
	lines := settings{}
	for line := range strings.Lines(info) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			lines[name] = value
		}
	}
	found := settings{}
	for _, r := range slices.Concat(forAll, forRecords) {
		value, ok := lines[r.info]
		if !ok {
			if value, err = configured(ctx, do, r.setting); err != nil {
				return nil, err
			}
		}
		found[r.setting] = cmp.Or(spelled[value], value)
	}
	return found, nil
}

// configured asks CONFIG GET, whose refusal is no error.
func configured(ctx context.Context, do Do, setting string) (string, error) {
	reply, err := do.call(ctx, "CONFIG", "GET", setting)
	if err != nil {
		// A server that refuses the command says so in words; a broken
		// connection or a deadline is no answer.
		if refusesCommand(err) {
			return unknown, nil
		}
		return "", err
	}
	value, ok := valueOf(reply, setting)
	if !ok {
		return unknown, nil
	}
	return value, nil
}

// valueOf finds a setting in the reply to CONFIG GET: an array of names and
// values, or a map where the client speaks RESP3.
func valueOf(reply any, setting string) (string, bool) {
	if m, ok := reply.(map[any]any); ok {
		return text(m[setting])
	}
	if m, ok := reply.(map[string]any); ok {
		return text(m[setting])
	}
	pairs, err := texts(reply, 2)
	if err != nil || pairs[0] != setting {
		return "", false
	}
	return pairs[1], true
}

func refusesCommand(err error) bool {
	for _, word := range []string{"NOPERM", "unknown command", "ERR", "not allowed"} {
		if strings.Contains(err.Error(), word) {
			return true
		}
	}
	return false
}

// refuse returns what is wrong with the server by these rules.
func (s *Store) refuse(rules []rule) error {
	var errs []error
	for _, r := range rules {
		if err := r.check(s.settings[r.setting], s.options); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (r rule) check(value string, o Options) error {
	if r.lifted(o) || slices.Contains(r.right, value) || value == unknown && o.UnsafeUnknown {
		return nil
	}
	if value != unknown {
		return &SettingError{r.setting, value, r.remedy}
	}
	return &SettingError{r.setting, value, fmt.Sprintf(
		"let the user run CONFIG GET, or see that it is %s and set UnsafeUnknown", strings.Join(r.right, " or "))}
}

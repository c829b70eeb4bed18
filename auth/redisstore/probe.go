package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/tenantkit/tenantkit/auth"
)

// settings holds the server's settings, by the names in the rules.
type settings map[string]string

const unknown = "unknown"

// rules lists the settings that every store needs, and from appendonly on those that the
// ledger and sessions need besides. Without these a restarted server has no records, or has
// records again that were ended after its snapshot.
var rules = []struct {
	setting string
	info    string // its name in INFO; "" if only CONFIG GET returns it
	right   []string
	remedy  string
	lifted  func(Options) bool
}{
	{"role", "role", []string{"master"}, "connect to the primary", never},
	{"cluster-enabled", "cluster_enabled", []string{"no", "yes"}, "connect to a server that says whether it is part of a cluster", never},
	{"maxmemory-policy", "maxmemory_policy", []string{"noeviction"},
		"run CONFIG SET maxmemory-policy noeviction and set it in the server's configuration, or set UnsafeEviction", evicts},
	{"appendonly", "aof_enabled", []string{"yes"},
		"run CONFIG SET appendonly yes and set it in the server's configuration, or set UnsafeNoAppendOnly", forgets},
	{"appendfsync", "", []string{"everysec", "always"},
		"run CONFIG SET appendfsync everysec, or always, and set it in the server's configuration, or set UnsafeNoAppendOnly", forgets},
	{"no-appendfsync-on-rewrite", "", []string{"no"},
		"run CONFIG SET no-appendfsync-on-rewrite no and set it in the server's configuration, or set UnsafeNoAppendOnly: a rewrite takes as long as the file is large, and meanwhile nothing is synced", forgets},
}

// What lifts a rule.
func never(Options) bool     { return false }
func evicts(o Options) bool  { return o.UnsafeEviction }
func forgets(o Options) bool { return o.UnsafeNoAppendOnly }

// spelled maps values of INFO to those of CONFIG GET.
var spelled = map[string]string{"1": "yes", "0": "no"}

// probe reads all settings. A setting that the server does not tell is unknown: many
// hosted servers forbid CONFIG.
func probe(ctx context.Context, do Do) (settings, error) {
	reply, err := do.call(ctx, "INFO")
	if err != nil {
		return nil, fmt.Errorf("%w (the stores need the command INFO)", err)
	}
	found, err := told(reply)
	if err != nil {
		return nil, err
	}
	for _, r := range rules {
		if _, ok := found[r.info]; !ok {
			if found[r.setting], err = configured(ctx, do, r.setting); err != nil {
				return nil, err
			}
		}
	}
	// INFO has the second line if min-replicas-to-write and min-replicas-max-lag are set.
	if n := cmp.Or(found["connected_slaves"], "0"); n != "0" && found["min_slaves_good_slaves"] == "" {
		slog.WarnContext(ctx, "redisstore: a replica that takes over may lack logouts, revocations and uses, however old: set min-replicas-to-write", "replicas", n)
	}
	return found, nil
}

// told reads the reply to INFO: its lines by their names, and those of the rules by the names of their settings, too.
func told(reply any) (settings, error) {
	info, ok := text(reply)
	if !ok {
		return nil, errReply
	}
	found := settings{}
	for line := range strings.Lines(info) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			found[name] = value
		}
	}
	for _, r := range rules {
		if value, ok := found[r.info]; ok {
			found[r.setting] = cmp.Or(spelled[value], value)
		}
	}
	return found, nil
}

// configured reads a setting by CONFIG GET. If the server refuses the command, the
// setting is unknown. The reply is an array of names and values, or a map if the client speaks RESP3.
func configured(ctx context.Context, do Do, setting string) (string, error) {
	reply, err := do.call(ctx, "CONFIG", "GET", setting)
	switch m := reply.(type) {
	case map[any]any:
		reply = []any{setting, m[setting]}
	case map[string]any:
		reply = []any{setting, m[setting]}
	}
	refuses := func(word string) bool { return strings.Contains(err.Error(), word) }
	pairs, failed := texts(reply, 2)
	switch {
	case err != nil && !slices.ContainsFunc([]string{"NOPERM", "unknown command", "ERR", "not allowed"}, refuses): // a broken connection or a deadline is no answer
		return "", err
	case err != nil, failed != nil, pairs[0] != setting:
		return unknown, nil
	}
	return cmp.Or(spelled[pairs[1]], pairs[1]), nil
}

// refuse returns an error for each of the settings that breaks one of the rules.
func (f settings) refuse(o Options) error {
	var errs []error
	for _, r := range rules {
		value, known := f[r.setting]
		if !known || r.lifted(o) || slices.Contains(r.right, value) || value == unknown && o.UnsafeUnknown {
			continue
		}
		remedy := r.remedy
		if value == unknown {
			remedy = fmt.Sprintf("let the user run CONFIG GET, or see that it is %s and set UnsafeUnknown", strings.Join(r.right, " or "))
		}
		errs = append(errs, fmt.Errorf("redisstore: %w", &auth.SettingError{Setting: r.setting, Value: value, Remedy: remedy}))
	}
	return errors.Join(errs...)
}

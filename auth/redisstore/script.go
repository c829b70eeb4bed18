package redisstore

import (
	"cmp"
	"context"
	"crypto/fips140"
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"sync"

	"github.com/tenantkit/tenantkit/auth"
)

// version is the version of the format. Each script compares it with that of the data, so that
// two versions never work on the same data, also if the data was lost and another version began
// anew. Raise it with each change of what the keys or their values mean.
const version = "3"

//go:embed lua
var scripts embed.FS

// lua returns the text of a file.
func lua(name string) string {
	text, err := scripts.ReadFile("lua/" + name + ".lua")
	if err != nil {
		panic(err) // a name in this package is wrong
	}
	return string(text)
}

// script is a Lua script, which the server executes atomically.
type script struct {
	text string
	name func() string

	errs []error // by the code that it returns, from 1 on: see decide
}

// newScript returns a script that first checks the version.
func newScript(parts ...string) *script {
	return newChecking(append([]string{"fits(redis.call('GET', KEYS[#KEYS]))"}, parts...)...)
}

// newChecking returns a script that checks the version itself, by fits.
func newChecking(parts ...string) *script {
	parts = append([]string{"local version = '" + version + "'", lua("version")}, parts...)
	text := strings.Join(parts, "\n")
	return &script{text: text, name: sync.OnceValue(func() string { return nameOf(text) })}
}

// failing returns s with the errors of its codes.
func (s *script) failing(errs ...error) *script {
	s.errs = errs
	return s
}

// nameOf returns the server's name of a script, the SHA-1 of its text. It is only a
// name and protects nothing, so FIPS 140 does not apply to it.
func nameOf(text string) string {
	var sum [sha1.Size]byte
	fips140.WithoutEnforcement(func() { sum = sha1.Sum([]byte(text)) })
	return hex.EncodeToString(sum[:])
}

// shard is the data whose keys have one prefix. In a cluster that puts them into one slot.
type shard struct {
	do      Do
	prefix  string
	version any // its key, made once

	// absent is in a cluster a key that never exists. While a slot moves, a server executes only
	// commands whose keys are all on it, so it refuses each script as a whole. A script that
	// finds keys by others could otherwise take for deleted what is still, or already, on the other
	// server.
	absent any
}

// run runs a script in one round trip. If the server does not know the script, a second
// round trip sends it. That happens after a restart or SCRIPT FLUSH. The first round
// trip has then done nothing, so sending again is safe. The last key of each script is that of
// the version.
func (s *shard) run(ctx context.Context, script *script, keys []string, args ...string) (any, error) {
	ours := []any{s.absent, s.version}
	if s.absent == nil || script == claimScript { // which declares all keys that it touches
		ours = ours[1:]
	}
	command := make([]any, 0, 5+len(keys)+len(args))
	command = append(command, "EVALSHA", script.name(), strconv.Itoa(len(keys)+len(ours)))
	for _, key := range keys {
		command = append(command, s.prefix+key)
	}
	command = append(command, ours...)
	for _, arg := range args {
		command = append(command, arg)
	}
	reply, err := s.do.call(ctx, command...)
	if err == nil || !strings.Contains(err.Error(), "NOSCRIPT") {
		return reply, err
	}
	command[0], command[1] = "EVAL", script.text
	return s.do.call(ctx, command...)
}

// get returns the value of a key, or "" if there is none.
func (s *shard) get(ctx context.Context, key string) (string, error) {
	// MGET does not return a nil reply, which some clients turn into an error.
	array, err := of[[]any](s.do.call(ctx, "MGET", s.prefix+key, s.version))
	if err != nil || len(array) != 2 {
		return "", cmp.Or(err, errReply)
	}
	// Without a version the server has lost its data, and no record is left either.
	if found, ok := text(array[1]); array[1] != nil && (!ok || found != version) {
		return "", auth.Unavailable(errors.New("redisstore: the data is of another version of this package"))
	}
	value, ok := text(array[0])
	if array[0] != nil && (!ok || value == "") {
		return "", errReply
	}
	return value, nil
}

// of returns a reply that must be a T.
func of[T any](reply any, err error) (T, error) {
	found, ok := reply.(T)
	if err == nil && !ok {
		err = errReply
	}
	return found, err
}

// code runs a script that returns an integer.
func (s *shard) code(ctx context.Context, script *script, keys []string, args ...string) (int64, error) {
	return of[int64](s.run(ctx, script, keys, args...))
}

// decide runs a script that returns 0, or the code of one of its errors.
func (s *shard) decide(ctx context.Context, script *script, keys []string, args ...string) error {
	code, err := s.code(ctx, script, keys, args...)
	if err != nil || code == 0 {
		return err
	}
	return script.failed(code)
}

// failed returns the error of a code, which is not 0.
func (s *script) failed(code int64) error {
	if code < 1 || code > int64(len(s.errs)) {
		return errReply
	}
	return s.errs[code-1]
}

// page runs a script that returns a text, where the next page begins, and then the rows of this one. It
// returns what f reads of each row.
func page[T any](ctx context.Context, s *shard, f func(row any) (T, error), script *script, keys []string, args ...string) (
	all []T, next string, err error) {
	rows, err := of[[]any](s.run(ctx, script, keys, args...))
	if err != nil || len(rows) == 0 {
		return nil, "", cmp.Or(err, errReply)
	}
	next, ok := text(rows[0])
	if !ok {
		return nil, "", errReply
	}
	all, err = read(rows[1:], f)
	return all, next, err
}

// list runs a script that returns an array, and returns what f reads of each row.
func list[T any](ctx context.Context, s *shard, f func(row any) (T, error), script *script, keys []string, args ...string) ([]T, error) {
	rows, err := of[[]any](s.run(ctx, script, keys, args...))
	if err != nil {
		return nil, err
	}
	return read(rows, f)
}

// read returns what f reads of each row.
func read[T any](rows []any, f func(row any) (T, error)) ([]T, error) {
	all := make([]T, len(rows))
	for i, row := range rows {
		var err error
		if all[i], err = f(row); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// pair joins two names so that no other two names give the same text.
func pair(a, b string) string { return strconv.Itoa(len(a)) + ":" + a + b }

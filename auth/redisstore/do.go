package redisstore

import (
	"context"
	"errors"
	"fmt"
)

// Do sends one command to the server and returns its reply. It is all this
// package asks of a client. The args are strings, of any bytes. A reply is an
// int64, a string or []byte, or an []any of these and nil; an error that the
// server replies is an error with the server's text in it.
//
// It must return when ctx ends, and must not send a command again: a client
// that retries by itself burns uses of tokens and refuses honest requests as
// replays. All commands must reach the primary, and one database of it. It
// is called by many goroutines at once.
type Do func(ctx context.Context, args ...any) (any, error)

// errReply is a reply that no script of this package gives: a proxy in between,
// or a client that turns replies into something else.
var errReply = errors.New("redisstore: unexpected reply")

// call wraps what goes wrong. The text of a server's error names commands and
// settings, never a key or a value.
func (do Do) call(ctx context.Context, args ...any) (any, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	reply, err := do(ctx, args...)
	if err != nil {
		return nil, fmt.Errorf("redisstore: %w", err)
	}
	return reply, nil
}

// text returns a reply that is a text; ok is false for any other.
func text(reply any) (s string, ok bool) {
	switch v := reply.(type) {
	case string:
		return v, true
	case []byte:
		return string(v), true
	}
	return "", false
}

// texts returns a reply that is an array of texts, at least n of them.
func texts(reply any, n int) ([]string, error) {
	array, ok := reply.([]any)
	if !ok || len(array) < n {
		return nil, errReply
	}
	all := make([]string, len(array))
	for i, v := range array {
		if all[i], ok = text(v); !ok {
			return nil, errReply
		}
	}
	return all, nil
}

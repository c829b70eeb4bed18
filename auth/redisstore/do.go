package redisstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/tenantkit/tenantkit/auth"
)

// Do sends one command to the server and returns its reply. It is the only function of
// a client that this package needs. The args are strings of any bytes. A reply is an
// int64, a string or []byte, or an []any of these and nil. For an error reply, Do
// returns an error that contains the server's text.
//
// Do must return when ctx ends. It must not send a command again: a client that retries
// by itself burns uses of tokens and refuses honest requests as replays. It may follow a
// redirection of a cluster, which says that nothing was done. All commands
// must reach a primary, and the same database on it. Many goroutines call Do
// concurrently.
type Do func(ctx context.Context, args ...any) (any, error)

// errReply means a reply that no script of this package gives. A proxy may have sent
// it, or the client may have converted the reply.
var errReply = errors.New("redisstore: unexpected reply")

// call sends a command. Its error wraps auth.ErrUnavailable: it is not known what the
// command has done. The text of a server's error names commands and settings, never a
// key or a value.
func (do Do) call(ctx context.Context, args ...any) (reply any, err error) {
	if err = ctx.Err(); err == nil {
		reply, err = do(ctx, args...)
	}
	if err != nil {
		return nil, fmt.Errorf("redisstore: %w", auth.Unavailable(err))
	}
	return reply, nil
}

// text returns a text reply; ok is false for any other reply.
func text(reply any) (s string, ok bool) {
	switch v := reply.(type) {
	case string:
		return v, true
	case []byte:
		return string(v), true
	}
	return "", false
}

// texts returns a reply that is an array of at least n texts.
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

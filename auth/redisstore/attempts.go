package redisstore

import (
	"context"
	_ "embed"
	"strconv"
	"time"
)

type attempts struct{ store *Store }

//go:embed lua/try.lua
var tryText string

//go:embed lua/return.lua
var returnText string

var (
	tryScript    = newScript(tryText)
	returnScript = newScript(returnText)
	resetScript  = newScript("return redis.call('DEL', KEYS[1])")
)

// Try implements session.Attempts.
func (a *attempts) Try(ctx context.Context, key string, at time.Time, free int) (count int, until time.Time, err error) {
	reply, err := a.store.run(ctx, tryScript, []string{"f:" + key},
		decimal(at.Unix()), strconv.Itoa(at.Nanosecond()), strconv.Itoa(free))
	if err != nil {
		return 0, time.Time{}, err
	}
	f, ok := reply.([]any)
	if !ok || len(f) != 4 {
		return 0, time.Time{}, errReply
	}
	var n [4]int64
	for i := range n {
		if n[i], ok = f[i].(int64); !ok {
			return 0, time.Time{}, errReply
		}
	}
	if n[1] != 0 {
		until = time.Unix(n[2], n[3])
	}
	return int(n[0]), until, nil
}

// Return implements session.Attempts.
func (a *attempts) Return(ctx context.Context, key string) error {
	_, err := a.store.code(ctx, returnScript, []string{"f:" + key})
	return err
}

// Reset implements session.Attempts.
func (a *attempts) Reset(ctx context.Context, key string) error {
	_, err := a.store.code(ctx, resetScript, []string{"f:" + key})
	return err
}

package redisstore

import (
	"context"
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"strconv"
	"strings"
)

// look is the last argument of a script that the server did not know: it may
// have been started since, and the script can find out.
const look = "look"

// script is a step that the server takes as a whole.
type script struct{ text, sha string }

func newScript(parts ...string) *script {
	text := strings.Join(parts, "\n")
	sum := sha1.Sum([]byte(text)) // what the server calls a script by
	return &script{text, hex.EncodeToString(sum[:])}
}

// run has the server run a script. It is one round trip, and a second one
// where the server does not know the script: after it was started, or told to
// forget scripts. It has done nothing then, so that sending again is safe.
func (s *Store) run(ctx context.Context, script *script, keys []string, args ...string) (any, error) {
	command := make([]any, 0, 4+len(keys)+len(args))
	command = append(command, "EVALSHA", script.sha, strconv.Itoa(len(keys)))
	for _, key := range keys {
		command = append(command, s.prefix+key)
	}
	for _, arg := range args {
		command = append(command, arg)
	}
	reply, err := s.do.call(ctx, command...)
	if err == nil || !strings.Contains(err.Error(), "NOSCRIPT") {
		return reply, err
	}
	command[0], command[1] = "EVAL", script.text
	return s.do.call(ctx, append(command, look)...)
}

// code runs a script that replies with an integer.
func (s *Store) code(ctx context.Context, script *script, keys []string, args ...string) (int64, error) {
	reply, err := s.run(ctx, script, keys, args...)
	if err != nil {
		return 0, err
	}
	n, ok := reply.(int64)
	if !ok {
		return 0, errReply
	}
	return n, nil
}

// pair joins two names so that no other two make the same.
func pair(a, b string) string { return strconv.Itoa(len(a)) + ":" + a + b }

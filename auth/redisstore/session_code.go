package redisstore

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth/session"
)

// encode returns a session in the format that lua/session.lua describes.
func encode(s session.Session) string {
	var b strings.Builder
	b.WriteByte('S')
	for _, t := range []time.Time{s.Seen, s.Authenticated, s.Created, s.Expires} {
		b.WriteString(fixed(t))
	}
	for _, part := range []string{s.ID, string(s.Org), s.Account, s.Ticket, s.Address, s.Agent, s.Proof, s.Origin} {
		b.WriteString(strconv.Itoa(len(part)))
		b.WriteByte(':')
		b.WriteString(part)
	}
	if s.Remember {
		b.WriteString(remembered)
	}
	return b.String()
}

// fixed returns a time in Unix milliseconds as 16 characters, so that scripts can
// overwrite it in place. All years of four digits fit.
func fixed(t time.Time) string { return fmt.Sprintf("%16d", t.UnixMilli()) }

const timesEnd = 1 + 4*16

// remembered ends the text of a session whose owner asked to be remembered.
const remembered = "R"

func decode(hash [32]byte, record string) (session.Session, error) {
	s := session.Session{Hash: hash}
	if len(record) < timesEnd || record[0] != 'S' {
		return session.Session{}, errReply
	}
	for i, t := range []*time.Time{&s.Seen, &s.Authenticated, &s.Created, &s.Expires} {
		ms, err := strconv.ParseInt(strings.TrimLeft(record[1+16*i:][:16], " "), 10, 64)
		if err != nil {
			return session.Session{}, errReply
		}
		*t = time.UnixMilli(ms).UTC()
	}
	rest := record[timesEnd:]
	for _, part := range []*string{&s.ID, (*string)(&s.Org), &s.Account, &s.Ticket, &s.Address, &s.Agent, &s.Proof, &s.Origin} {
		length, after, ok := strings.Cut(rest, ":")
		n, err := strconv.Atoi(length)
		if !ok || err != nil || n < 0 || n > len(after) {
			return session.Session{}, errReply
		}
		*part, rest = after[:n], after[n:]
	}
	s.Remember = rest == remembered
	if rest != "" && !s.Remember {
		return session.Session{}, errReply
	}
	return s, nil
}

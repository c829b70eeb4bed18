package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
)

type sessions struct{ store *Store }

var (
	createScript    = newScript(lua("session"), lua("create")).failing(errHash)
	touchScript     = newScript(lua("session"), lua("touch")).failing(auth.ErrNotFound)
	replaceScript   = newScript(lua("session"), lua("replace")).failing(auth.ErrNotFound, errHash)
	deleteScript    = newScript(lua("session"), lua("delete"))
	deleteIDScript  = newScript(lua("session"), lua("deleteid")).failing(auth.ErrNotFound)
	deleteAllScript = newScript(lua("session"), lua("endaccount"), lua("deleteall"))
	deleteOrgScript = newScript(lua("session"), lua("endaccount"), lua("deleteorg"))
	sessionsScript  = newScript(lua("session"), lua("sessions"))
)

var errHash = errors.New("redisstore: the hash of a session is not new")

// Create implements session.Store. It returns an error if the hash exists.
func (s *sessions) Create(ctx context.Context, r session.Session, limit int) error {
	return s.store.of(string(r.Org)).decide(ctx, createScript,
		[]string{hashKey(r.Org, r.Hash), accountKey(r.Org, r.Account), orgKey(r.Org)},
		encode(r), r.ID+string(r.Hash[:]), millis(r.Created), millis(r.Expires),
		strconv.Itoa(max(limit, 0)), r.Ticket, r.Account, s.hashes(r.Org))
}

// Get implements session.Store.
func (s *sessions) Get(ctx context.Context, org auth.OrgKey, hash [32]byte) (session.Session, error) {
	record, err := s.store.of(string(org)).get(ctx, hashKey(org, hash))
	switch {
	case err != nil:
		return session.Session{}, err
	case record == "", record[0] == 'M':
		return session.Session{}, auth.ErrNotFound
	case record[0] == 'R':
		return session.Session{}, session.ErrEvicted
	}
	return decode(hash, record)
}

// Touch implements session.Store.
func (s *sessions) Touch(ctx context.Context, org auth.OrgKey, hash [32]byte, seen time.Time) error {
	return s.store.of(string(org)).decide(ctx, touchScript, []string{hashKey(org, hash)}, fixed(seen))
}

// Replace implements session.Store. It returns an error if the new hash exists.
func (s *sessions) Replace(ctx context.Context, org auth.OrgKey, old [32]byte, r session.Session) error {
	return s.store.of(string(org)).decide(ctx, replaceScript,
		[]string{hashKey(org, old), hashKey(org, r.Hash)},
		fixed(r.Seen)+fixed(r.Authenticated), string(r.Hash[:]), string(old[:]), s.accounts(org))
}

// Delete implements session.Store.
func (s *sessions) Delete(ctx context.Context, org auth.OrgKey, hash [32]byte) error {
	return s.store.of(string(org)).decide(ctx, deleteScript,
		[]string{hashKey(org, hash), orgKey(org)}, string(hash[:]), s.hashes(org), s.accounts(org))
}

// DeleteID implements session.Store.
func (s *sessions) DeleteID(ctx context.Context, org auth.OrgKey, account, id string) error {
	return s.store.of(string(org)).decide(ctx, deleteIDScript,
		[]string{accountKey(org, account), orgKey(org)}, id, account, s.hashes(org))
}

// DeleteAll implements session.Store.
func (s *sessions) DeleteAll(ctx context.Context, org auth.OrgKey, account, except string) (int, error) {
	n, err := s.store.of(string(org)).code(ctx, deleteAllScript,
		[]string{accountKey(org, account), orgKey(org)}, account, except, s.hashes(org))
	return int(n), err
}

// DeleteOrg implements session.Store.
func (s *sessions) DeleteOrg(ctx context.Context, org auth.OrgKey) (int, error) {
	n, err := s.store.of(string(org)).code(ctx, deleteOrgScript,
		[]string{orgKey(org)}, s.hashes(org), s.accounts(org))
	return int(n), err
}

// List implements session.Store.
func (s *sessions) List(ctx context.Context, org auth.OrgKey, account string) ([]session.Session, error) {
	return list(ctx, s.store.of(string(org)), listed, sessionsScript, []string{accountKey(org, account)}, s.hashes(org))
}

func listed(row any) (session.Session, error) {
	f, err := texts(row, 2)
	if err != nil || len(f[0]) != 32 {
		return session.Session{}, errReply
	}
	return decode([32]byte([]byte(f[0])), f[1])
}

// hashes begins the keys of an org's sessions, for scripts.
func (s *sessions) hashes(org auth.OrgKey) string {
	return s.store.of(string(org)).prefix + "h:" + pair(string(org), "")
}

// accounts begins the keys of the indexes of an org's accounts, for scripts.
func (s *sessions) accounts(org auth.OrgKey) string {
	return s.store.of(string(org)).prefix + accountKey(org, "")
}

func hashKey(org auth.OrgKey, hash [32]byte) string { return "h:" + pair(string(org), string(hash[:])) }

func accountKey(org auth.OrgKey, account string) string { return "a:" + pair(string(org), account) }

func orgKey(org auth.OrgKey) string { return "o:" + pair(string(org), "") }

// encode returns a session in the format that lua/session.lua describes.
func encode(s session.Session) string {
	text := []byte("S" + fixed(s.Seen) + fixed(s.Authenticated) + fixed(s.Created) + fixed(s.Expires))
	for _, part := range []string{s.ID, string(s.Org), s.Account, s.Ticket, s.Address, s.Agent, s.Proof, s.Origin} {
		text = append(append(strconv.AppendInt(text, int64(len(part)), 10), ':'), part...)
	}
	if s.Remember {
		text = append(text, remembered...)
	}
	return string(text)
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

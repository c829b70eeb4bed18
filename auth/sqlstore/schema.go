package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

const defaultPrefix = "tenantkit_"

// validPrefix leaves nothing to quote, and room for the longest name of a table
// or an index within PostgreSQL's 63 bytes.
var validPrefix = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,30}$`)

var tables = []string{
	"schema", "replays", "ledger", "keys", "credentials", "sessions", "attempts", "factors",
}

// version is that of schema.
const version = 2

// schema makes the present tables. It may run again.
const schema = `
-- What has been accepted: a row for each nonce and each signature, and one for
-- the epoch, whose id is empty. It goes with the others when the table is emptied.
CREATE TABLE IF NOT EXISTS {replays} (
	id {bytes} PRIMARY KEY,   -- SHA-256 of kind, client key, and nonce or signature
	keep bigint NOT NULL,     -- Unix milliseconds
	uses bigint NOT NULL,     -- acceptances of a signature; many for single use
	began bigint NOT NULL,    -- first acceptance, Unix milliseconds
	engine {text} NOT NULL    -- of the epoch: which engine it is of
);
CREATE INDEX IF NOT EXISTS {replays}_keep ON {replays} (keep);

CREATE TABLE IF NOT EXISTS {ledger} (
	client_key {text} NOT NULL,
	id {text} NOT NULL,
	subject {text} NOT NULL,
	key_id {text} NOT NULL,
	uses bigint NOT NULL,
	max_uses bigint NOT NULL, -- 0: any number
	issued bigint NOT NULL,   -- Unix seconds
	expires bigint,           -- Unix seconds; NULL: never
	maker {text} NOT NULL DEFAULT '',     -- account
	maker_app {text} NOT NULL DEFAULT '', -- client key
	parent {text} NOT NULL DEFAULT '',    -- id; empty: none
	PRIMARY KEY (client_key, id)
);
CREATE INDEX IF NOT EXISTS {ledger}_subject ON {ledger} (client_key, subject);
CREATE INDEX IF NOT EXISTS {ledger}_expires ON {ledger} (expires) WHERE expires IS NOT NULL;
CREATE INDEX IF NOT EXISTS {ledger}_parent ON {ledger} (client_key, parent) WHERE parent <> '';

-- Key pairs, one for each app.
CREATE TABLE IF NOT EXISTS {keys} (
	client_key {text} PRIMARY KEY,
	org {text} NOT NULL,
	key_id {text} NOT NULL UNIQUE,
	public {bytes} NOT NULL,  -- PKIX
	sealed {bytes} NOT NULL,  -- PKCS #8
	exposed bigint NOT NULL   -- 0 or 1
);
CREATE INDEX IF NOT EXISTS {keys}_org ON {keys} (org);

-- Signing secrets.
CREATE TABLE IF NOT EXISTS {credentials} (
	client_key {text} PRIMARY KEY,
	org {text} NOT NULL,
	version {text} NOT NULL,  -- random, another one with each change
	sealed {bytes} NOT NULL,  -- the secret
	formers {text} NOT NULL DEFAULT '[]', -- the secrets before, sealed, and their ends: JSON
	restrictions {text} NOT NULL
);

CREATE TABLE IF NOT EXISTS {sessions} (
	hash {bytes} PRIMARY KEY, -- SHA-256 of the token
	previous {bytes},         -- the hash before the latest change of the token
	id {text} NOT NULL,
	org {text} NOT NULL,
	account {text} NOT NULL,
	ticket {text} NOT NULL,
	created bigint NOT NULL,  -- this and the next three: Unix milliseconds
	authenticated bigint NOT NULL,
	seen bigint NOT NULL,
	expires bigint NOT NULL,
	address {text} NOT NULL,
	agent {text} NOT NULL,
	replaced bigint NOT NULL  -- 1: ended by a newer session
);
CREATE UNIQUE INDEX IF NOT EXISTS {sessions}_id ON {sessions} (org, account, id) WHERE replaced = 0;
CREATE INDEX IF NOT EXISTS {sessions}_previous ON {sessions} (previous) WHERE previous IS NOT NULL;
CREATE INDEX IF NOT EXISTS {sessions}_expires ON {sessions} (expires);

CREATE TABLE IF NOT EXISTS {attempts} (
	key {text} PRIMARY KEY,
	tries bigint NOT NULL,
	latest bigint NOT NULL,   -- this and until: Unix nanoseconds
	until bigint NOT NULL,    -- 0: no delay
	refused bigint NOT NULL   -- 1: the latest was inside the delay
);
CREATE INDEX IF NOT EXISTS {attempts}_latest ON {attempts} (latest);

CREATE TABLE IF NOT EXISTS {factors} (
	org {text} NOT NULL,
	account {text} NOT NULL,
	version bigint NOT NULL,
	sealed {bytes} NOT NULL,  -- the secrets
	step bigint NOT NULL,
	recovery {bytes} NOT NULL, -- SHA-256 of each code, one after the other
	PRIMARY KEY (org, account)
);
`

// upgrades lead from each version to the next, the first from version 1. Each
// stays as it is once it was released.
var upgrades = [version - 1]string{`
ALTER TABLE {ledger} ADD COLUMN maker {text} NOT NULL DEFAULT '';
ALTER TABLE {ledger} ADD COLUMN maker_app {text} NOT NULL DEFAULT '';
ALTER TABLE {ledger} ADD COLUMN parent {text} NOT NULL DEFAULT '';
CREATE INDEX {ledger}_parent ON {ledger} (client_key, parent) WHERE parent <> '';
`}

const schemaTable = `CREATE TABLE IF NOT EXISTS {schema} (
	version bigint PRIMARY KEY
);
`

var setVersion = fmt.Sprintf("\nINSERT INTO {schema} (version) VALUES (%d) ON CONFLICT DO NOTHING;\n", version)

// Schema returns the statements that make the tables of the present version,
// for those who run them by a tool of their own. They may run again, but do not
// upgrade tables of an earlier version: they fail there, and Open upgrades. An
// empty prefix is that of Options.Prefix. It returns "" for what Open refuses.
func Schema(d Dialect, prefix string) string {
	if prefix == "" {
		prefix = defaultPrefix
	}
	if !d.valid() || !validPrefix.MatchString(prefix) {
		return ""
	}
	return d.replacer(prefix).Replace(schemaTable + schema + setVersion)
}

// migrate brings the tables to the present version, unless they are.
func (s *Store) migrate(ctx context.Context) error {
	found, err := s.version(ctx, s.db)
	if err == nil && found == version {
		return nil
	}
	// Not there, or not to be read: what is wrong shows below.
	return s.transact(ctx, "schema", func(q querier) error {
		if _, err := q.ExecContext(ctx, s.text(schemaTable)); err != nil {
			return err
		}
		found, err := s.version(ctx, q)
		if err != nil {
			return err
		}
		if found > version {
			return errors.New("the tables are of a later version of this package")
		}
		steps := schema
		if found > 0 {
			steps = strings.Join(upgrades[found-1:], "")
		}
		return execAll(ctx, q, s.text(steps+setVersion))
	})
}

// version returns 0 for tables that are not there yet.
func (s *Store) version(ctx context.Context, q querier) (found int, err error) {
	err = q.QueryRowContext(ctx, s.text("SELECT coalesce(max(version), 0) FROM {schema}")).Scan(&found)
	return found, err
}

// execAll runs statements one by one, as some drivers take no more at once.
// None of ours has a semicolon inside.
func execAll(ctx context.Context, q querier, text string) error {
	for statement := range strings.SplitSeq(text, ";\n") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		if _, err := q.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

-- +goose Up
CREATE TABLE IF NOT EXISTS tenantkit_schema ( -- one row
	version INTEGER PRIMARY KEY,
	probe BLOB -- sealed by the first Open with a Sealer
) STRICT;

-- Accepted requests: a row for each nonce and each signature. The row with the
-- empty id is the epoch. It is deleted with the others when the table is emptied.
CREATE TABLE IF NOT EXISTS tenantkit_v9_replays (
	id BLOB PRIMARY KEY,   -- SHA-256 of kind, client key, and nonce or signature
	keep INTEGER NOT NULL,     -- Unix milliseconds
	uses INTEGER NOT NULL,     -- acceptances of a signature; a huge number for single use; of the epoch: up to which keep rows are deleted
	began INTEGER NOT NULL,    -- first acceptance, Unix milliseconds
	engine TEXT NOT NULL    -- of the epoch: identity of the engine and the table
) STRICT;
CREATE INDEX IF NOT EXISTS tenantkit_v9_replays_keep ON tenantkit_v9_replays (keep);

-- One row in PostgreSQL, of the epoch. A recovery from a crash empties the table.
CREATE TABLE IF NOT EXISTS tenantkit_v9_marks (
	id INTEGER PRIMARY KEY,    -- 1
	mark TEXT NOT NULL     -- random
) STRICT;

CREATE TABLE IF NOT EXISTS tenantkit_v9_ledger (
	client_key TEXT NOT NULL,
	id TEXT NOT NULL,
	subject TEXT NOT NULL,
	key_id TEXT NOT NULL,
	uses INTEGER NOT NULL,
	max_uses INTEGER NOT NULL, -- 0: any number
	issued INTEGER NOT NULL,   -- Unix seconds
	expires INTEGER,           -- Unix seconds; NULL: never
	maker TEXT NOT NULL DEFAULT '',     -- account
	maker_app TEXT NOT NULL DEFAULT '', -- client key
	parent TEXT NOT NULL DEFAULT '',    -- id; empty: none
	org TEXT NOT NULL,
	generation INTEGER NOT NULL DEFAULT 0, -- how often it was renewed
	graced INTEGER NOT NULL DEFAULT 0,     -- Unix milliseconds: the generation before is accepted until then
	name TEXT NOT NULL DEFAULT '',
	seen INTEGER NOT NULL DEFAULT 0,       -- Unix milliseconds; 0: never
	seen_from TEXT NOT NULL DEFAULT '',
	PRIMARY KEY (client_key, id)
) STRICT;
CREATE INDEX IF NOT EXISTS tenantkit_v9_ledger_subject ON tenantkit_v9_ledger (client_key, subject, issued, id);
CREATE INDEX IF NOT EXISTS tenantkit_v9_ledger_expires ON tenantkit_v9_ledger (expires) WHERE expires IS NOT NULL;
CREATE INDEX IF NOT EXISTS tenantkit_v9_ledger_parent ON tenantkit_v9_ledger (client_key, parent) WHERE parent <> '';
CREATE INDEX IF NOT EXISTS tenantkit_v9_ledger_org ON tenantkit_v9_ledger (org, subject);
CREATE INDEX IF NOT EXISTS tenantkit_v9_ledger_issued ON tenantkit_v9_ledger (client_key, issued, id);

-- Key pairs, one for each app.
CREATE TABLE IF NOT EXISTS tenantkit_v9_keys (
	client_key TEXT PRIMARY KEY,
	org TEXT NOT NULL,
	key_id TEXT NOT NULL UNIQUE,
	public BLOB NOT NULL,  -- PKIX
	sealed BLOB NOT NULL,  -- PKCS #8
	exposed INTEGER NOT NULL   -- 0 or 1
) STRICT;
CREATE INDEX IF NOT EXISTS tenantkit_v9_keys_org ON tenantkit_v9_keys (org);

-- Former public keys of the apps in tenantkit_v9_keys that still verify.
CREATE TABLE IF NOT EXISTS tenantkit_v9_former_keys (
	key_id TEXT PRIMARY KEY,
	client_key TEXT NOT NULL,
	present TEXT NOT NULL,  -- the key_id in tenantkit_v9_keys that follows; beside another one this key is dead
	public BLOB NOT NULL,  -- PKIX
	ends INTEGER NOT NULL      -- Unix milliseconds
) STRICT;
CREATE INDEX IF NOT EXISTS tenantkit_v9_former_keys_client_key ON tenantkit_v9_former_keys (client_key);
CREATE INDEX IF NOT EXISTS tenantkit_v9_former_keys_ends ON tenantkit_v9_former_keys (ends);

-- Signing secrets.
CREATE TABLE IF NOT EXISTS tenantkit_v9_credentials (
	client_key TEXT PRIMARY KEY,
	org TEXT NOT NULL,
	version TEXT NOT NULL,  -- random, new with each change
	sealed BLOB NOT NULL,  -- the secret
	restrictions TEXT NOT NULL, -- JSON
	seen INTEGER NOT NULL DEFAULT 0, -- Unix milliseconds; 0: never
	seen_from TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX IF NOT EXISTS tenantkit_v9_credentials_org ON tenantkit_v9_credentials (org, client_key);

-- Former secrets of the client keys in tenantkit_v9_credentials.
CREATE TABLE IF NOT EXISTS tenantkit_v9_formers (
	client_key TEXT NOT NULL,
	id TEXT NOT NULL,       -- random
	org TEXT NOT NULL,
	ends INTEGER NOT NULL,     -- Unix milliseconds
	sealed BLOB NOT NULL,  -- the secret
	PRIMARY KEY (client_key, id)
) STRICT;
CREATE INDEX IF NOT EXISTS tenantkit_v9_formers_ends ON tenantkit_v9_formers (ends);

CREATE TABLE IF NOT EXISTS tenantkit_v9_sessions (
	hash BLOB PRIMARY KEY, -- SHA-256 of the token
	previous BLOB,         -- the hash before the latest Replace
	id TEXT NOT NULL,
	org TEXT NOT NULL,
	account TEXT NOT NULL,
	ticket TEXT NOT NULL,
	created INTEGER NOT NULL,  -- this and the next three: Unix milliseconds
	authenticated INTEGER NOT NULL,
	seen INTEGER NOT NULL,
	expires INTEGER NOT NULL,
	address TEXT NOT NULL,
	agent TEXT NOT NULL,
	replaced INTEGER NOT NULL, -- 1: ended by a newer session, over the limit
	remember INTEGER NOT NULL, -- 1: its owner asked to be remembered
	proof TEXT NOT NULL,   -- JSON of how its owner authenticated
	origin TEXT NOT NULL   -- JSON of the session that it comes from; empty: none
) STRICT;
CREATE UNIQUE INDEX IF NOT EXISTS tenantkit_v9_sessions_id ON tenantkit_v9_sessions (org, account, id) WHERE replaced = 0;
CREATE INDEX IF NOT EXISTS tenantkit_v9_sessions_previous ON tenantkit_v9_sessions (previous) WHERE previous IS NOT NULL;
CREATE INDEX IF NOT EXISTS tenantkit_v9_sessions_expires ON tenantkit_v9_sessions (expires);

CREATE TABLE IF NOT EXISTS tenantkit_v9_attempts (
	org TEXT NOT NULL,
	key TEXT NOT NULL,
	record TEXT NOT NULL,
	swapped INTEGER NOT NULL, -- Unix milliseconds
	PRIMARY KEY (org, key)
) STRICT;
CREATE INDEX IF NOT EXISTS tenantkit_v9_attempts_swapped ON tenantkit_v9_attempts (swapped);

CREATE TABLE IF NOT EXISTS tenantkit_v9_factors (
	org TEXT NOT NULL,
	account TEXT NOT NULL,
	version INTEGER NOT NULL,
	sealed BLOB NOT NULL,  -- the secrets
	step INTEGER NOT NULL,
	recovery BLOB NOT NULL, -- SHA-256 of each code, one after the other
	PRIMARY KEY (org, account)
) STRICT;

-- Data keys, each wrapped by a KMS.
CREATE TABLE IF NOT EXISTS tenantkit_v9_wrapped (
	name TEXT PRIMARY KEY,
	wrapped BLOB NOT NULL
) STRICT;

CREATE TABLE IF NOT EXISTS tenantkit_v9_api_keys (
	id TEXT PRIMARY KEY,
	org TEXT NOT NULL,
	account TEXT NOT NULL,
	app TEXT NOT NULL,      -- client key; empty: none
	maker TEXT NOT NULL,    -- account; empty: deleted
	stored TEXT NOT NULL,   -- JSON of what no use changes
	expires INTEGER,           -- of that, Unix milliseconds; NULL: never
	max_uses INTEGER NOT NULL, -- 0: any number
	uses INTEGER NOT NULL,
	seen INTEGER NOT NULL,     -- Unix milliseconds; 0: never
	seen_from TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS tenantkit_v9_api_keys_org ON tenantkit_v9_api_keys (org, id);
CREATE INDEX IF NOT EXISTS tenantkit_v9_api_keys_account ON tenantkit_v9_api_keys (org, account, id);
CREATE INDEX IF NOT EXISTS tenantkit_v9_api_keys_app ON tenantkit_v9_api_keys (org, app, id);
CREATE INDEX IF NOT EXISTS tenantkit_v9_api_keys_expires ON tenantkit_v9_api_keys (expires) WHERE expires IS NOT NULL;

-- Requests with an Idempotency-Key.
CREATE TABLE IF NOT EXISTS tenantkit_v9_repeats (
	id BLOB PRIMARY KEY,   -- SHA-256 of org, caller, app, route and key
	org TEXT NOT NULL,
	caller TEXT NOT NULL,   -- account
	fence TEXT NOT NULL,    -- random, of who executes it; empty: complete
	lease INTEGER NOT NULL,    -- until when, Unix milliseconds
	keep INTEGER NOT NULL,     -- Unix milliseconds
	cost INTEGER NOT NULL,     -- bytes towards the bound of the caller
	sealed BLOB NOT NULL   -- digests of the request, and its response
) STRICT;
CREATE INDEX IF NOT EXISTS tenantkit_v9_repeats_caller ON tenantkit_v9_repeats (org, caller, keep, cost);
CREATE INDEX IF NOT EXISTS tenantkit_v9_repeats_keep ON tenantkit_v9_repeats (keep);

-- The audit log, a chain for each org. Texts are empty if there is nothing.
CREATE TABLE IF NOT EXISTS tenantkit_v9_audit (
	org TEXT NOT NULL,
	n INTEGER NOT NULL,         -- 1, 2, 3, …: the order
	time INTEGER NOT NULL,      -- Unix milliseconds
	hash TEXT NOT NULL,     -- of this row and the one before
	verb TEXT NOT NULL,
	actor TEXT NOT NULL,    -- account
	account TEXT NOT NULL,
	app TEXT NOT NULL,      -- client key
	credential TEXT NOT NULL, -- API key
	token TEXT NOT NULL,
	session TEXT NOT NULL,
	by_what TEXT NOT NULL,  -- of the actor: session, token or app
	reason TEXT NOT NULL,
	counted INTEGER NOT NULL,   -- 0: one
	detail TEXT NOT NULL,
	route TEXT NOT NULL,
	request TEXT NOT NULL,
	commitment TEXT NOT NULL, -- to the row in tenantkit_v9_audit_personal
	PRIMARY KEY (org, n)
) STRICT;
CREATE INDEX IF NOT EXISTS tenantkit_v9_audit_seals ON tenantkit_v9_audit (org, n) WHERE verb = 'audit.sealed';

-- The end of each chain.
CREATE TABLE IF NOT EXISTS tenantkit_v9_audit_heads (
	org TEXT PRIMARY KEY,
	n INTEGER NOT NULL,
	time INTEGER NOT NULL,
	hash TEXT NOT NULL
) STRICT;

-- What of the audit log can be erased.
CREATE TABLE IF NOT EXISTS tenantkit_v9_audit_personal (
	org TEXT NOT NULL,
	n INTEGER NOT NULL,
	address TEXT NOT NULL,
	agent TEXT NOT NULL,
	mail TEXT NOT NULL,
	salt TEXT NOT NULL,
	PRIMARY KEY (org, n)
) STRICT;

INSERT INTO tenantkit_schema (version) SELECT 9 WHERE NOT EXISTS (SELECT 1 FROM tenantkit_schema) ON CONFLICT DO NOTHING;

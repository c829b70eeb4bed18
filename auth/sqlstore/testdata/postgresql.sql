-- +goose Up
CREATE TABLE IF NOT EXISTS tenantkit_schema ( -- one row
	version bigint PRIMARY KEY,
	probe bytea -- sealed by the first Open with a Sealer
);

-- Accepted requests: a row for each nonce and each signature. The row with the
-- empty id is the epoch. It is deleted with the others when the table is emptied.
CREATE TABLE IF NOT EXISTS tenantkit_v9_replays (
	id bytea PRIMARY KEY,   -- SHA-256 of kind, client key, and nonce or signature
	keep bigint NOT NULL,     -- Unix milliseconds
	uses bigint NOT NULL,     -- acceptances of a signature; a huge number for single use; of the epoch: up to which keep rows are deleted
	began bigint NOT NULL,    -- first acceptance, Unix milliseconds
	engine text COLLATE "C" NOT NULL    -- of the epoch: identity of the engine and the table
);
CREATE INDEX IF NOT EXISTS tenantkit_v9_replays_keep ON tenantkit_v9_replays (keep);

-- One row in PostgreSQL, of the epoch. A recovery from a crash empties the table.
CREATE UNLOGGED TABLE IF NOT EXISTS tenantkit_v9_marks (
	id bigint PRIMARY KEY,    -- 1
	mark text COLLATE "C" NOT NULL     -- random
);

CREATE TABLE IF NOT EXISTS tenantkit_v9_ledger (
	client_key text COLLATE "C" NOT NULL,
	id text COLLATE "C" NOT NULL,
	subject text COLLATE "C" NOT NULL,
	key_id text COLLATE "C" NOT NULL,
	uses bigint NOT NULL,
	max_uses bigint NOT NULL, -- 0: any number
	issued bigint NOT NULL,   -- Unix seconds
	expires bigint,           -- Unix seconds; NULL: never
	maker text COLLATE "C" NOT NULL DEFAULT '',     -- account
	maker_app text COLLATE "C" NOT NULL DEFAULT '', -- client key
	parent text COLLATE "C" NOT NULL DEFAULT '',    -- id; empty: none
	org text COLLATE "C" NOT NULL,
	generation bigint NOT NULL DEFAULT 0, -- how often it was renewed
	graced bigint NOT NULL DEFAULT 0,     -- Unix milliseconds: the generation before is accepted until then
	name text COLLATE "C" NOT NULL DEFAULT '',
	seen bigint NOT NULL DEFAULT 0,       -- Unix milliseconds; 0: never
	seen_from text COLLATE "C" NOT NULL DEFAULT '',
	PRIMARY KEY (client_key, id)
);
CREATE INDEX IF NOT EXISTS tenantkit_v9_ledger_subject ON tenantkit_v9_ledger (client_key, subject, issued, id);
CREATE INDEX IF NOT EXISTS tenantkit_v9_ledger_expires ON tenantkit_v9_ledger (expires) WHERE expires IS NOT NULL;
CREATE INDEX IF NOT EXISTS tenantkit_v9_ledger_parent ON tenantkit_v9_ledger (client_key, parent) WHERE parent <> '';
CREATE INDEX IF NOT EXISTS tenantkit_v9_ledger_org ON tenantkit_v9_ledger (org, subject);
CREATE INDEX IF NOT EXISTS tenantkit_v9_ledger_issued ON tenantkit_v9_ledger (client_key, issued, id);

-- Key pairs, one for each app.
CREATE TABLE IF NOT EXISTS tenantkit_v9_keys (
	client_key text COLLATE "C" PRIMARY KEY,
	org text COLLATE "C" NOT NULL,
	key_id text COLLATE "C" NOT NULL UNIQUE,
	public bytea NOT NULL,  -- PKIX
	sealed bytea NOT NULL,  -- PKCS #8
	exposed bigint NOT NULL   -- 0 or 1
);
CREATE INDEX IF NOT EXISTS tenantkit_v9_keys_org ON tenantkit_v9_keys (org);

-- Former public keys of the apps in tenantkit_v9_keys that still verify.
CREATE TABLE IF NOT EXISTS tenantkit_v9_former_keys (
	key_id text COLLATE "C" PRIMARY KEY,
	client_key text COLLATE "C" NOT NULL,
	present text COLLATE "C" NOT NULL,  -- the key_id in tenantkit_v9_keys that follows; beside another one this key is dead
	public bytea NOT NULL,  -- PKIX
	ends bigint NOT NULL      -- Unix milliseconds
);
CREATE INDEX IF NOT EXISTS tenantkit_v9_former_keys_client_key ON tenantkit_v9_former_keys (client_key);
CREATE INDEX IF NOT EXISTS tenantkit_v9_former_keys_ends ON tenantkit_v9_former_keys (ends);

-- Signing secrets.
CREATE TABLE IF NOT EXISTS tenantkit_v9_credentials (
	client_key text COLLATE "C" PRIMARY KEY,
	org text COLLATE "C" NOT NULL,
	version text COLLATE "C" NOT NULL,  -- random, new with each change
	sealed bytea NOT NULL,  -- the secret
	restrictions text COLLATE "C" NOT NULL, -- JSON
	seen bigint NOT NULL DEFAULT 0, -- Unix milliseconds; 0: never
	seen_from text COLLATE "C" NOT NULL DEFAULT ''
);
CREATE INDEX IF NOT EXISTS tenantkit_v9_credentials_org ON tenantkit_v9_credentials (org, client_key);

-- Former secrets of the client keys in tenantkit_v9_credentials.
CREATE TABLE IF NOT EXISTS tenantkit_v9_formers (
	client_key text COLLATE "C" NOT NULL,
	id text COLLATE "C" NOT NULL,       -- random
	org text COLLATE "C" NOT NULL,
	ends bigint NOT NULL,     -- Unix milliseconds
	sealed bytea NOT NULL,  -- the secret
	PRIMARY KEY (client_key, id)
);
CREATE INDEX IF NOT EXISTS tenantkit_v9_formers_ends ON tenantkit_v9_formers (ends);

CREATE TABLE IF NOT EXISTS tenantkit_v9_sessions (
	hash bytea PRIMARY KEY, -- SHA-256 of the token
	previous bytea,         -- the hash before the latest Replace
	id text COLLATE "C" NOT NULL,
	org text COLLATE "C" NOT NULL,
	account text COLLATE "C" NOT NULL,
	ticket text COLLATE "C" NOT NULL,
	created bigint NOT NULL,  -- this and the next three: Unix milliseconds
	authenticated bigint NOT NULL,
	seen bigint NOT NULL,
	expires bigint NOT NULL,
	address text COLLATE "C" NOT NULL,
	agent text COLLATE "C" NOT NULL,
	replaced bigint NOT NULL, -- 1: ended by a newer session, over the limit
	remember bigint NOT NULL, -- 1: its owner asked to be remembered
	proof text COLLATE "C" NOT NULL,   -- JSON of how its owner authenticated
	origin text COLLATE "C" NOT NULL   -- JSON of the session that it comes from; empty: none
);
CREATE UNIQUE INDEX IF NOT EXISTS tenantkit_v9_sessions_id ON tenantkit_v9_sessions (org, account, id) WHERE replaced = 0;
CREATE INDEX IF NOT EXISTS tenantkit_v9_sessions_previous ON tenantkit_v9_sessions (previous) WHERE previous IS NOT NULL;
CREATE INDEX IF NOT EXISTS tenantkit_v9_sessions_expires ON tenantkit_v9_sessions (expires);

CREATE TABLE IF NOT EXISTS tenantkit_v9_attempts (
	org text COLLATE "C" NOT NULL,
	key text COLLATE "C" NOT NULL,
	record text COLLATE "C" NOT NULL,
	swapped bigint NOT NULL, -- Unix milliseconds
	PRIMARY KEY (org, key)
);
CREATE INDEX IF NOT EXISTS tenantkit_v9_attempts_swapped ON tenantkit_v9_attempts (swapped);

CREATE TABLE IF NOT EXISTS tenantkit_v9_factors (
	org text COLLATE "C" NOT NULL,
	account text COLLATE "C" NOT NULL,
	version bigint NOT NULL,
	sealed bytea NOT NULL,  -- the secrets
	step bigint NOT NULL,
	recovery bytea NOT NULL, -- SHA-256 of each code, one after the other
	PRIMARY KEY (org, account)
);

-- Data keys, each wrapped by a KMS.
CREATE TABLE IF NOT EXISTS tenantkit_v9_wrapped (
	name text COLLATE "C" PRIMARY KEY,
	wrapped bytea NOT NULL
);

CREATE TABLE IF NOT EXISTS tenantkit_v9_api_keys (
	id text COLLATE "C" PRIMARY KEY,
	org text COLLATE "C" NOT NULL,
	account text COLLATE "C" NOT NULL,
	app text COLLATE "C" NOT NULL,      -- client key; empty: none
	maker text COLLATE "C" NOT NULL,    -- account; empty: deleted
	stored text COLLATE "C" NOT NULL,   -- JSON of what no use changes
	expires bigint,           -- of that, Unix milliseconds; NULL: never
	max_uses bigint NOT NULL, -- 0: any number
	uses bigint NOT NULL,
	seen bigint NOT NULL,     -- Unix milliseconds; 0: never
	seen_from text COLLATE "C" NOT NULL
);
CREATE INDEX IF NOT EXISTS tenantkit_v9_api_keys_org ON tenantkit_v9_api_keys (org, id);
CREATE INDEX IF NOT EXISTS tenantkit_v9_api_keys_account ON tenantkit_v9_api_keys (org, account, id);
CREATE INDEX IF NOT EXISTS tenantkit_v9_api_keys_app ON tenantkit_v9_api_keys (org, app, id);
CREATE INDEX IF NOT EXISTS tenantkit_v9_api_keys_expires ON tenantkit_v9_api_keys (expires) WHERE expires IS NOT NULL;

-- Requests with an Idempotency-Key.
CREATE TABLE IF NOT EXISTS tenantkit_v9_repeats (
	id bytea PRIMARY KEY,   -- SHA-256 of org, caller, app, route and key
	org text COLLATE "C" NOT NULL,
	caller text COLLATE "C" NOT NULL,   -- account
	fence text COLLATE "C" NOT NULL,    -- random, of who executes it; empty: complete
	lease bigint NOT NULL,    -- until when, Unix milliseconds
	keep bigint NOT NULL,     -- Unix milliseconds
	cost bigint NOT NULL,     -- bytes towards the bound of the caller
	sealed bytea NOT NULL   -- digests of the request, and its response
);
CREATE INDEX IF NOT EXISTS tenantkit_v9_repeats_caller ON tenantkit_v9_repeats (org, caller, keep, cost);
CREATE INDEX IF NOT EXISTS tenantkit_v9_repeats_keep ON tenantkit_v9_repeats (keep);

-- The audit log, a chain for each org. Texts are empty if there is nothing.
CREATE TABLE IF NOT EXISTS tenantkit_v9_audit (
	org text COLLATE "C" NOT NULL,
	n bigint NOT NULL,         -- 1, 2, 3, …: the order
	time bigint NOT NULL,      -- Unix milliseconds
	hash text COLLATE "C" NOT NULL,     -- of this row and the one before
	verb text COLLATE "C" NOT NULL,
	actor text COLLATE "C" NOT NULL,    -- account
	account text COLLATE "C" NOT NULL,
	app text COLLATE "C" NOT NULL,      -- client key
	credential text COLLATE "C" NOT NULL, -- API key
	token text COLLATE "C" NOT NULL,
	session text COLLATE "C" NOT NULL,
	by_what text COLLATE "C" NOT NULL,  -- of the actor: session, token or app
	reason text COLLATE "C" NOT NULL,
	counted bigint NOT NULL,   -- 0: one
	detail text COLLATE "C" NOT NULL,
	route text COLLATE "C" NOT NULL,
	request text COLLATE "C" NOT NULL,
	commitment text COLLATE "C" NOT NULL, -- to the row in tenantkit_v9_audit_personal
	PRIMARY KEY (org, n)
);
CREATE INDEX IF NOT EXISTS tenantkit_v9_audit_seals ON tenantkit_v9_audit (org, n) WHERE verb = 'audit.sealed';

-- The end of each chain.
CREATE TABLE IF NOT EXISTS tenantkit_v9_audit_heads (
	org text COLLATE "C" PRIMARY KEY,
	n bigint NOT NULL,
	time bigint NOT NULL,
	hash text COLLATE "C" NOT NULL
);

-- What of the audit log can be erased.
CREATE TABLE IF NOT EXISTS tenantkit_v9_audit_personal (
	org text COLLATE "C" NOT NULL,
	n bigint NOT NULL,
	address text COLLATE "C" NOT NULL,
	agent text COLLATE "C" NOT NULL,
	mail text COLLATE "C" NOT NULL,
	salt text COLLATE "C" NOT NULL,
	PRIMARY KEY (org, n)
);

INSERT INTO tenantkit_schema (version) SELECT 9 WHERE NOT EXISTS (SELECT 1 FROM tenantkit_schema) ON CONFLICT DO NOTHING;

CREATE TABLE IF NOT EXISTS tenantkit_schema (
	version bigint PRIMARY KEY
);

-- What has been accepted: a row for each nonce and each signature, and one for
-- the epoch, whose id is empty. It goes with the others when the table is emptied.
CREATE TABLE IF NOT EXISTS tenantkit_replays (
	id BLOB PRIMARY KEY,   -- SHA-256 of kind, client key, and nonce or signature
	keep bigint NOT NULL,     -- Unix milliseconds
	uses bigint NOT NULL,     -- acceptances of a signature; many for single use
	began bigint NOT NULL,    -- first acceptance, Unix milliseconds
	engine TEXT NOT NULL    -- of the epoch: which engine it is of
);
CREATE INDEX IF NOT EXISTS tenantkit_replays_keep ON tenantkit_replays (keep);

CREATE TABLE IF NOT EXISTS tenantkit_ledger (
	client_key TEXT NOT NULL,
	id TEXT NOT NULL,
	subject TEXT NOT NULL,
	key_id TEXT NOT NULL,
	uses bigint NOT NULL,
	max_uses bigint NOT NULL, -- 0: any number
	issued bigint NOT NULL,   -- Unix seconds
	expires bigint,           -- Unix seconds; NULL: never
	PRIMARY KEY (client_key, id)
);
CREATE INDEX IF NOT EXISTS tenantkit_ledger_subject ON tenantkit_ledger (client_key, subject);
CREATE INDEX IF NOT EXISTS tenantkit_ledger_expires ON tenantkit_ledger (expires) WHERE expires IS NOT NULL;

-- Key pairs, one for each app.
CREATE TABLE IF NOT EXISTS tenantkit_keys (
	client_key TEXT PRIMARY KEY,
	org TEXT NOT NULL,
	key_id TEXT NOT NULL UNIQUE,
	public BLOB NOT NULL,  -- PKIX
	sealed BLOB NOT NULL,  -- PKCS #8
	exposed bigint NOT NULL   -- 0 or 1
);
CREATE INDEX IF NOT EXISTS tenantkit_keys_org ON tenantkit_keys (org);

-- Signing secrets.
CREATE TABLE IF NOT EXISTS tenantkit_credentials (
	client_key TEXT PRIMARY KEY,
	org TEXT NOT NULL,
	version TEXT NOT NULL,  -- random, another one with each change
	sealed BLOB NOT NULL,  -- the secret
	formers TEXT NOT NULL DEFAULT '[]', -- the secrets before, sealed, and their ends: JSON
	restrictions TEXT NOT NULL
);

CREATE TABLE IF NOT EXISTS tenantkit_sessions (
	hash BLOB PRIMARY KEY, -- SHA-256 of the token
	previous BLOB,         -- the hash before the latest change of the token
	id TEXT NOT NULL,
	org TEXT NOT NULL,
	account TEXT NOT NULL,
	ticket TEXT NOT NULL,
	created bigint NOT NULL,  -- this and the next three: Unix milliseconds
	authenticated bigint NOT NULL,
	seen bigint NOT NULL,
	expires bigint NOT NULL,
	address TEXT NOT NULL,
	agent TEXT NOT NULL,
	replaced bigint NOT NULL  -- 1: ended by a newer session
);
CREATE UNIQUE INDEX IF NOT EXISTS tenantkit_sessions_id ON tenantkit_sessions (org, account, id) WHERE replaced = 0;
CREATE INDEX IF NOT EXISTS tenantkit_sessions_previous ON tenantkit_sessions (previous) WHERE previous IS NOT NULL;
CREATE INDEX IF NOT EXISTS tenantkit_sessions_expires ON tenantkit_sessions (expires);

CREATE TABLE IF NOT EXISTS tenantkit_attempts (
	key TEXT PRIMARY KEY,
	tries bigint NOT NULL,
	latest bigint NOT NULL,   -- this and until: Unix nanoseconds
	until bigint NOT NULL,    -- 0: no delay
	refused bigint NOT NULL   -- 1: the latest was inside the delay
);
CREATE INDEX IF NOT EXISTS tenantkit_attempts_latest ON tenantkit_attempts (latest);

CREATE TABLE IF NOT EXISTS tenantkit_factors (
	org TEXT NOT NULL,
	account TEXT NOT NULL,
	version bigint NOT NULL,
	sealed BLOB NOT NULL,  -- the secrets
	step bigint NOT NULL,
	recovery BLOB NOT NULL, -- SHA-256 of each code, one after the other
	PRIMARY KEY (org, account)
);

INSERT INTO tenantkit_schema (version) VALUES (1) ON CONFLICT DO NOTHING;

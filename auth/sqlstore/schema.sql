CREATE TABLE IF NOT EXISTS {schema} ( -- one row
	version {int} PRIMARY KEY,
	probe {bytes} -- sealed by the first Open with a Sealer
){strict};

-- Accepted requests: a row for each nonce and each signature. The row with the
-- empty id is the epoch. It is deleted with the others when the table is emptied.
CREATE TABLE IF NOT EXISTS {replays} (
	id {bytes} PRIMARY KEY,   -- SHA-256 of kind, client key, and nonce or signature
	keep {int} NOT NULL,     -- Unix milliseconds
	uses {int} NOT NULL,     -- acceptances of a signature; a huge number for single use; of the epoch: up to which keep rows are deleted
	began {int} NOT NULL,    -- first acceptance, Unix milliseconds
	engine {text} NOT NULL    -- of the epoch: identity of the engine and the table
){strict};
CREATE INDEX IF NOT EXISTS {replays}_keep ON {replays} (keep);

-- One row in PostgreSQL, of the epoch. A recovery from a crash empties the table.
CREATE {unlogged}TABLE IF NOT EXISTS {marks} (
	id {int} PRIMARY KEY,    -- 1
	mark {text} NOT NULL     -- random
){strict};

CREATE TABLE IF NOT EXISTS {ledger} (
	client_key {text} NOT NULL,
	id {text} NOT NULL,
	subject {text} NOT NULL,
	key_id {text} NOT NULL,
	uses {int} NOT NULL,
	max_uses {int} NOT NULL, -- 0: any number
	issued {int} NOT NULL,   -- Unix seconds
	expires {int},           -- Unix seconds; NULL: never
	maker {text} NOT NULL DEFAULT '',     -- account
	maker_app {text} NOT NULL DEFAULT '', -- client key
	parent {text} NOT NULL DEFAULT '',    -- id; empty: none
	org {text} NOT NULL,
	generation {int} NOT NULL DEFAULT 0, -- how often it was renewed
	graced {int} NOT NULL DEFAULT 0,     -- Unix milliseconds: the generation before is accepted until then
	name {text} NOT NULL DEFAULT '',
	seen {int} NOT NULL DEFAULT 0,       -- Unix milliseconds; 0: never
	seen_from {text} NOT NULL DEFAULT '',
	PRIMARY KEY (client_key, id)
){strict};
CREATE INDEX IF NOT EXISTS {ledger}_subject ON {ledger} (client_key, subject, issued, id);
CREATE INDEX IF NOT EXISTS {ledger}_expires ON {ledger} (expires) WHERE expires IS NOT NULL;
CREATE INDEX IF NOT EXISTS {ledger}_parent ON {ledger} (client_key, parent) WHERE parent <> '';
CREATE INDEX IF NOT EXISTS {ledger}_org ON {ledger} (org, subject);
CREATE INDEX IF NOT EXISTS {ledger}_issued ON {ledger} (client_key, issued, id);

-- Key pairs, one for each app.
CREATE TABLE IF NOT EXISTS {keys} (
	client_key {text} PRIMARY KEY,
	org {text} NOT NULL,
	key_id {text} NOT NULL UNIQUE,
	public {bytes} NOT NULL,  -- PKIX
	sealed {bytes} NOT NULL,  -- PKCS #8
	exposed {int} NOT NULL   -- 0 or 1
){strict};
CREATE INDEX IF NOT EXISTS {keys}_org ON {keys} (org);

-- Former public keys of the apps in {keys} that still verify.
CREATE TABLE IF NOT EXISTS {former_keys} (
	key_id {text} PRIMARY KEY,
	client_key {text} NOT NULL,
	present {text} NOT NULL,  -- the key_id in {keys} that follows; beside another one this key is dead
	public {bytes} NOT NULL,  -- PKIX
	ends {int} NOT NULL      -- Unix milliseconds
){strict};
CREATE INDEX IF NOT EXISTS {former_keys}_client_key ON {former_keys} (client_key);
CREATE INDEX IF NOT EXISTS {former_keys}_ends ON {former_keys} (ends);

-- Signing secrets.
CREATE TABLE IF NOT EXISTS {credentials} (
	client_key {text} PRIMARY KEY,
	org {text} NOT NULL,
	version {text} NOT NULL,  -- random, new with each change
	sealed {bytes} NOT NULL,  -- the secret
	restrictions {text} NOT NULL, -- JSON
	seen {int} NOT NULL DEFAULT 0, -- Unix milliseconds; 0: never
	seen_from {text} NOT NULL DEFAULT ''
){strict};
CREATE INDEX IF NOT EXISTS {credentials}_org ON {credentials} (org, client_key);

-- Former secrets of the client keys in {credentials}.
CREATE TABLE IF NOT EXISTS {formers} (
	client_key {text} NOT NULL,
	id {text} NOT NULL,       -- random
	org {text} NOT NULL,
	ends {int} NOT NULL,     -- Unix milliseconds
	sealed {bytes} NOT NULL,  -- the secret
	PRIMARY KEY (client_key, id)
){strict};
CREATE INDEX IF NOT EXISTS {formers}_ends ON {formers} (ends);

CREATE TABLE IF NOT EXISTS {sessions} (
	hash {bytes} PRIMARY KEY, -- SHA-256 of the token
	previous {bytes},         -- the hash before the latest Replace
	id {text} NOT NULL,
	org {text} NOT NULL,
	account {text} NOT NULL,
	ticket {text} NOT NULL,
	created {int} NOT NULL,  -- this and the next three: Unix milliseconds
	authenticated {int} NOT NULL,
	seen {int} NOT NULL,
	expires {int} NOT NULL,
	address {text} NOT NULL,
	agent {text} NOT NULL,
	replaced {int} NOT NULL, -- 1: ended by a newer session, over the limit
	remember {int} NOT NULL, -- 1: its owner asked to be remembered
	proof {text} NOT NULL,   -- JSON of how its owner authenticated
	origin {text} NOT NULL   -- JSON of the session that it comes from; empty: none
){strict};
CREATE UNIQUE INDEX IF NOT EXISTS {sessions}_id ON {sessions} (org, account, id) WHERE replaced = 0;
CREATE INDEX IF NOT EXISTS {sessions}_previous ON {sessions} (previous) WHERE previous IS NOT NULL;
CREATE INDEX IF NOT EXISTS {sessions}_expires ON {sessions} (expires);

CREATE TABLE IF NOT EXISTS {attempts} (
	org {text} NOT NULL,
	key {text} NOT NULL,
	record {text} NOT NULL,
	swapped {int} NOT NULL, -- Unix milliseconds
	PRIMARY KEY (org, key)
){strict};
CREATE INDEX IF NOT EXISTS {attempts}_swapped ON {attempts} (swapped);

CREATE TABLE IF NOT EXISTS {factors} (
	org {text} NOT NULL,
	account {text} NOT NULL,
	version {int} NOT NULL,
	sealed {bytes} NOT NULL,  -- the secrets
	step {int} NOT NULL,
	recovery {bytes} NOT NULL, -- SHA-256 of each code, one after the other
	PRIMARY KEY (org, account)
){strict};

-- Data keys, each wrapped by a KMS.
CREATE TABLE IF NOT EXISTS {wrapped} (
	name {text} PRIMARY KEY,
	wrapped {bytes} NOT NULL
){strict};

CREATE TABLE IF NOT EXISTS {api_keys} (
	id {text} PRIMARY KEY,
	org {text} NOT NULL,
	account {text} NOT NULL,
	app {text} NOT NULL,      -- client key; empty: none
	maker {text} NOT NULL,    -- account; empty: deleted
	stored {text} NOT NULL,   -- JSON of what no use changes
	expires {int},           -- of that, Unix milliseconds; NULL: never
	max_uses {int} NOT NULL, -- 0: any number
	uses {int} NOT NULL,
	seen {int} NOT NULL,     -- Unix milliseconds; 0: never
	seen_from {text} NOT NULL
){strict};
CREATE INDEX IF NOT EXISTS {api_keys}_org ON {api_keys} (org, id);
CREATE INDEX IF NOT EXISTS {api_keys}_account ON {api_keys} (org, account, id);
CREATE INDEX IF NOT EXISTS {api_keys}_app ON {api_keys} (org, app, id);
CREATE INDEX IF NOT EXISTS {api_keys}_expires ON {api_keys} (expires) WHERE expires IS NOT NULL;

-- Requests with an Idempotency-Key.
CREATE TABLE IF NOT EXISTS {repeats} (
	id {bytes} PRIMARY KEY,   -- SHA-256 of org, caller, app, route and key
	org {text} NOT NULL,
	caller {text} NOT NULL,   -- account
	fence {text} NOT NULL,    -- random, of who executes it; empty: complete
	lease {int} NOT NULL,    -- until when, Unix milliseconds
	keep {int} NOT NULL,     -- Unix milliseconds
	cost {int} NOT NULL,     -- bytes towards the bound of the caller
	sealed {bytes} NOT NULL   -- digests of the request, and its response
){strict};
CREATE INDEX IF NOT EXISTS {repeats}_caller ON {repeats} (org, caller, keep, cost);
CREATE INDEX IF NOT EXISTS {repeats}_keep ON {repeats} (keep);

-- The audit log, a chain for each org. Texts are empty if there is nothing.
CREATE TABLE IF NOT EXISTS {audit} (
	org {text} NOT NULL,
	n {int} NOT NULL,         -- 1, 2, 3, …: the order
	time {int} NOT NULL,      -- Unix milliseconds
	hash {text} NOT NULL,     -- of this row and the one before
	verb {text} NOT NULL,
	actor {text} NOT NULL,    -- account
	account {text} NOT NULL,
	app {text} NOT NULL,      -- client key
	credential {text} NOT NULL, -- API key
	token {text} NOT NULL,
	session {text} NOT NULL,
	by_what {text} NOT NULL,  -- of the actor: session, token or app
	reason {text} NOT NULL,
	counted {int} NOT NULL,   -- 0: one
	detail {text} NOT NULL,
	route {text} NOT NULL,
	request {text} NOT NULL,
	commitment {text} NOT NULL, -- to the row in {audit_personal}
	PRIMARY KEY (org, n)
){strict};
CREATE INDEX IF NOT EXISTS {audit}_seals ON {audit} (org, n) WHERE verb = 'audit.sealed';

-- The end of each chain.
CREATE TABLE IF NOT EXISTS {audit_heads} (
	org {text} PRIMARY KEY,
	n {int} NOT NULL,
	time {int} NOT NULL,
	hash {text} NOT NULL
){strict};

-- What of the audit log can be erased.
CREATE TABLE IF NOT EXISTS {audit_personal} (
	org {text} NOT NULL,
	n {int} NOT NULL,
	address {text} NOT NULL,
	agent {text} NOT NULL,
	mail {text} NOT NULL,
	salt {text} NOT NULL,
	PRIMARY KEY (org, n)
){strict};

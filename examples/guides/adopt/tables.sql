-- The tables that the service has, for PostgreSQL. open.go derives those for SQLite.

CREATE TABLE tenants (
	id uuid PRIMARY KEY,
	subdomain text NOT NULL UNIQUE,
	former text NOT NULL DEFAULT '', -- earlier subdomains, separated by blanks
	closed boolean NOT NULL DEFAULT false
);
CREATE TABLE users (
	id uuid PRIMARY KEY,
	tenant_id uuid NOT NULL REFERENCES tenants,
	email text NOT NULL, -- in lower case
	password_hash text NOT NULL,
	disabled boolean NOT NULL DEFAULT false,
	changed bigint NOT NULL DEFAULT 0, -- Unix milliseconds of the latest change of password or roles
	UNIQUE (tenant_id, email)
);
CREATE TABLE roles (
	tenant_id uuid NOT NULL REFERENCES tenants,
	name text NOT NULL, -- without blanks
	scope text NOT NULL, -- chains, separated by blanks
	PRIMARY KEY (tenant_id, name)
);
CREATE TABLE user_roles (
	user_id uuid NOT NULL REFERENCES users,
	role text NOT NULL,
	PRIMARY KEY (user_id, role)
);
CREATE TABLE api_clients (
	client_key text PRIMARY KEY,
	tenant_id uuid NOT NULL REFERENCES tenants,
	label text NOT NULL,
	disabled boolean NOT NULL DEFAULT false
);
CREATE TABLE notes (
	id uuid PRIMARY KEY,
	tenant_id uuid NOT NULL REFERENCES tenants,
	title text NOT NULL,
	body text NOT NULL
);

-- Added for lists: items with the property object, and ids as texts, which filters compare.
CREATE VIEW note_items AS
	SELECT id::text AS id, 'note'::text AS object, tenant_id::text AS tenant, title, body FROM notes;

-- One index for each order of a page.
CREATE INDEX notes_by_id ON notes ((tenant_id::text) COLLATE "C", (id::text) COLLATE "C");
CREATE INDEX notes_by_title ON notes ((tenant_id::text) COLLATE "C", title COLLATE "C", (id::text) COLLATE "C");
CREATE INDEX notes_by_title_down ON notes ((tenant_id::text) COLLATE "C", title COLLATE "C" DESC, (id::text) COLLATE "C");

-- The tables that the service has, for PostgreSQL. open.go derives those for SQLite.

CREATE TABLE tenants (
	id uuid PRIMARY KEY,
	subdomain text NOT NULL UNIQUE,
	closed boolean NOT NULL DEFAULT false
);
CREATE TABLE former_subdomains (
	subdomain text PRIMARY KEY,
	tenant_id uuid NOT NULL REFERENCES tenants, -- the last that had it
	UNIQUE (tenant_id, subdomain)
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

INSERT INTO tenants (id, subdomain) VALUES
	('aaaaaaaa-0000-4000-8000-000000000001', 'acme'), ('bbbbbbbb-0000-4000-8000-000000000001', 'globex');
-- Each password is "correct horse", hashed by bcrypt.
INSERT INTO users (id, tenant_id, email, password_hash) VALUES
	('aaaaaaaa-0000-4000-8000-000000000011', 'aaaaaaaa-0000-4000-8000-000000000001', 'olga@acme.example', '$2a$10$Hu7yfk.Ows6u7B7UAXV.outsXp67W2mOq/sXzJZEGasvxpyJ.mzPK'),
	('aaaaaaaa-0000-4000-8000-000000000012', 'aaaaaaaa-0000-4000-8000-000000000001', 'ed@acme.example', '$2a$10$1G0su5O3toOa.v91qrlRfOUoRtJfJcr3UZy.z2S9Yf0VUFL1Sjjma'),
	('aaaaaaaa-0000-4000-8000-000000000013', 'aaaaaaaa-0000-4000-8000-000000000001', 'rita@acme.example', '$2a$10$R1y6xL2d759ojoFIIOMhuODoCXO6ILS2Kmhhb/esySS7SEVEm3IDC'),
	('bbbbbbbb-0000-4000-8000-000000000011', 'bbbbbbbb-0000-4000-8000-000000000001', 'gus@globex.example', '$2a$10$yGrnx4ZsgghyGHXc7lTzSedKaYXjkVomC6g6s95XyJ0BsPc31BHOy');
INSERT INTO roles (tenant_id, name, scope)
	SELECT id, 'owner', '*' FROM tenants UNION ALL SELECT id, 'editor', 'object' FROM tenants
	UNION ALL SELECT id, 'reader', 'object.read.note' FROM tenants;
INSERT INTO user_roles (user_id, role) VALUES
	('aaaaaaaa-0000-4000-8000-000000000011', 'owner'), ('aaaaaaaa-0000-4000-8000-000000000012', 'editor'),
	('aaaaaaaa-0000-4000-8000-000000000013', 'reader'), ('bbbbbbbb-0000-4000-8000-000000000011', 'owner');
INSERT INTO notes (id, tenant_id, title, body) VALUES
	('aaaaaaaa-0000-4000-8000-000000000101', 'aaaaaaaa-0000-4000-8000-000000000001', 'Anvils', 'order ten'),
	('aaaaaaaa-0000-4000-8000-000000000102', 'aaaaaaaa-0000-4000-8000-000000000001', 'Birdseed', 'free samples'),
	('aaaaaaaa-0000-4000-8000-000000000103', 'aaaaaaaa-0000-4000-8000-000000000001', 'Catapults', 'recall'),
	('bbbbbbbb-0000-4000-8000-000000000101', 'bbbbbbbb-0000-4000-8000-000000000001', 'Doomsday', 'postponed');

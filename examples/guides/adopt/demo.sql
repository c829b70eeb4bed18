INSERT INTO tenants (id, subdomain) VALUES
	('aaaaaaaa-0000-4000-8000-000000000001', 'acme'), ('bbbbbbbb-0000-4000-8000-000000000001', 'globex');
-- Each password is "correct horse", hashed by bcrypt.
INSERT INTO users (id, tenant_id, email, password_hash) VALUES
	('aaaaaaaa-0000-4000-8000-000000000011', 'aaaaaaaa-0000-4000-8000-000000000001', 'olga@acme.example', '$2a$08$/OLg.7/kHtQUtFwvKReXZeSk3LNeaBqYbj.8cFk.am4.gOjdPQiO2'),
	('aaaaaaaa-0000-4000-8000-000000000012', 'aaaaaaaa-0000-4000-8000-000000000001', 'ed@acme.example', '$2a$08$Thzc/pO4G8dqhlibZuPBouig6tlK.HJv5qZRen/Z8VPZ97CZTyqu2'),
	('aaaaaaaa-0000-4000-8000-000000000013', 'aaaaaaaa-0000-4000-8000-000000000001', 'rita@acme.example', '$2a$08$uFUYCuEAy1Mrea.zJlICpu9OzXm9j/k7YftL4.b82t5pfNPxoVYEm'),
	('bbbbbbbb-0000-4000-8000-000000000011', 'bbbbbbbb-0000-4000-8000-000000000001', 'gus@globex.example', '$2a$08$5VsvclTAgwoQP88fb.TrBOYlWDz/hZnF18S.xgqLN9jk9P.e6fTAe');
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

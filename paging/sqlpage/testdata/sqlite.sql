-- everything
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 ORDER BY r."id" COLLATE BINARY LIMIT ?2;
-- []interface {}{"acme", 11}

-- nothing
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND FALSE ORDER BY r."id" COLLATE BINARY LIMIT ?2;
-- []interface {}{"acme", 11}

-- equal text
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND r."title" COLLATE BINARY = ?2 ORDER BY r."id" COLLATE BINARY LIMIT ?3;
-- []interface {}{"acme", "a", 11}

-- equal null
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND r."title" IS NULL ORDER BY r."id" COLLATE BINARY LIMIT ?2;
-- []interface {}{"acme", 11}

-- not equal
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND NOT COALESCE(r."title" COLLATE BINARY = ?2, FALSE) ORDER BY r."id" COLLATE BINARY LIMIT ?3;
-- []interface {}{"acme", "a", 11}

-- not null
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND NOT (r."title" IS NULL) ORDER BY r."id" COLLATE BINARY LIMIT ?2;
-- []interface {}{"acme", 11}

-- greater
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND r."title" COLLATE BINARY > ?2 ORDER BY r."id" COLLATE BINARY LIMIT ?3;
-- []interface {}{"acme", "a", 11}

-- greater or equal
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND r."likes" >= ?2 ORDER BY r."id" COLLATE BINARY LIMIT ?3;
-- []interface {}{"acme", 5, 11}

-- less
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND r."price" < ?2 ORDER BY r."id" COLLATE BINARY LIMIT ?3;
-- []interface {}{"acme", 5.25, 11}

-- less or equal
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND r."weight" <= ?2 ORDER BY r."id" COLLATE BINARY LIMIT ?3;
-- []interface {}{"acme", +Inf, 11}

-- equal number, whole
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND r."price" = ?2 ORDER BY r."id" COLLATE BINARY LIMIT ?3;
-- []interface {}{"acme", 5, 11}

-- less or equal, double
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND r."weight" <= ?2 ORDER BY r."id" COLLATE BINARY LIMIT ?3;
-- []interface {}{"acme", 0.1, 11}

-- in
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND (r."title" IS NULL OR r."title" COLLATE BINARY IN (?2, ?3)) ORDER BY r."id" COLLATE BINARY LIMIT ?4;
-- []interface {}{"acme", "a", "b", 11}

-- in, a text among integers
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND r."rank" IN (?2) ORDER BY r."id" COLLATE BINARY LIMIT ?3;
-- []interface {}{"acme", 1, 11}

-- in nothing
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND FALSE ORDER BY r."id" COLLATE BINARY LIMIT ?2;
-- []interface {}{"acme", 11}

-- not in
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND NOT COALESCE(r."likes" IN (?2, ?3), FALSE) ORDER BY r."id" COLLATE BINARY LIMIT ?4;
-- []interface {}{"acme", 1, 2, 11}

-- exists
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND r."title" IS NOT NULL ORDER BY r."id" COLLATE BINARY LIMIT ?2;
-- []interface {}{"acme", 11}

-- exists not
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND NOT (r."title" IS NOT NULL) ORDER BY r."id" COLLATE BINARY LIMIT ?2;
-- []interface {}{"acme", 11}

-- prefix
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND (r."title" COLLATE BINARY >= ?2 AND r."title" COLLATE BINARY < ?3) ORDER BY r."id" COLLATE BINARY LIMIT ?4;
-- []interface {}{"acme", "a_%", "a_&", 11}

-- not a prefix
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND NOT COALESCE(r."title" COLLATE BINARY >= ?2, FALSE) ORDER BY r."id" COLLATE BINARY LIMIT ?3;
-- []interface {}{"acme", "\U0010ffff", 11}

-- prefix of an enum
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND (r."state" COLLATE BINARY >= ?2 AND r."state" COLLATE BINARY < ?3) ORDER BY r."id" COLLATE BINARY LIMIT ?4;
-- []interface {}{"acme", "op", "oq", 11}

-- prefix of a uuid
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND (FALSE AND FALSE) ORDER BY r."id" COLLATE BINARY LIMIT ?2;
-- []interface {}{"acme", 11}

-- not
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND NOT COALESCE((r."likes" > ?2 AND r."likes" < ?3), FALSE) ORDER BY r."id" COLLATE BINARY LIMIT ?4;
-- []interface {}{"acme", 5, 9, 11}

-- and, or, nor
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND (r."title" COLLATE BINARY = ?2 AND (r."likes" = ?3 OR (r."likes" = ?4 AND r."rank" = ?5)) AND NOT COALESCE((r."rank" = ?6 OR r."rank" = ?7), FALSE)) ORDER BY r."id" COLLATE BINARY LIMIT ?8;
-- []interface {}{"acme", "a", 1, 2, 3, 1, 2, 11}

-- boolean
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND r."is_open" >= ?2 ORDER BY r."id" COLLATE BINARY LIMIT ?3;
-- []interface {}{"acme", 1, 11}

-- boolean that is false
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND (r."is_open" = ?2 AND NOT COALESCE(r."is_pinned" = ?3, FALSE)) ORDER BY r."id" COLLATE BINARY LIMIT ?4;
-- []interface {}{"acme", 0, 1, 11}

-- date
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND r."created_at" COLLATE BINARY > ?2 ORDER BY r."id" COLLATE BINARY LIMIT ?3;
-- []interface {}{"acme", "2026-01-02T03:04:05.000Z", 11}

-- date of any precision
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND r."changed_at" COLLATE BINARY <= ?2 ORDER BY r."changed_at" COLLATE BINARY DESC, r."id" COLLATE BINARY LIMIT ?3;
-- []interface {}{"acme", "2026-01-02T03:04:05.000Z", 11}

-- day
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND r."day" COLLATE BINARY = ?2 ORDER BY r."day" COLLATE BINARY, r."id" COLLATE BINARY LIMIT ?3;
-- []interface {}{"acme", "2026-01-02", 11}

-- within a day
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND (r."day" COLLATE BINARY >= ?2 AND NOT COALESCE(r."day" COLLATE BINARY = ?3, FALSE)) ORDER BY r."id" COLLATE BINARY LIMIT ?4;
-- []interface {}{"acme", "2026-01-02T03:04:05.000Z", "2026-01-02T03:04:05.000Z", 11}

-- uuid
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND r."author" COLLATE BINARY > ?2 ORDER BY r."author" COLLATE BINARY DESC, r."id" COLLATE BINARY LIMIT ?3;
-- []interface {}{"acme", "0e984725-c51c-4bf4-9960-e1c80e27aba0", 11}

-- enum
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND r."state" COLLATE BINARY IN (?2, ?3) ORDER BY r."state" COLLATE BINARY DESC, r."id" COLLATE BINARY LIMIT ?4;
-- []interface {}{"acme", "open", "x", 11}

-- uuid in
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND (r."author" IS NULL OR r."author" COLLATE BINARY IN (?2)) ORDER BY r."id" COLLATE BINARY LIMIT ?3;
-- []interface {}{"acme", "0e984725-c51c-4bf4-9960-e1c80e27aba0", 11}

-- uuid that is none
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND (FALSE AND NOT COALESCE(FALSE, FALSE)) ORDER BY r."id" COLLATE BINARY LIMIT ?2;
-- []interface {}{"acme", 11}

-- keyset of uuid and date
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND (r."changed_at", r."author", r."id") > ((+?2) COLLATE BINARY, ?3 COLLATE BINARY, ?4 COLLATE BINARY) ORDER BY r."changed_at" COLLATE BINARY, r."author" COLLATE BINARY, r."id" COLLATE BINARY LIMIT ?5;
-- []interface {}{"acme", "2026-01-02T03:04:05.000Z", "0e984725-c51c-4bf4-9960-e1c80e27aba0", "n7", 11}

-- a text for an integer
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND FALSE ORDER BY r."id" COLLATE BINARY LIMIT ?2;
-- []interface {}{"acme", 11}

-- between integers
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND (r."likes" > ?2 AND r."rank" > ?3) ORDER BY r."id" COLLATE BINARY LIMIT ?4;
-- []interface {}{"acme", 5, -6, 11}

-- below what is between integers
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND (r."likes" <= ?2 AND r."rank" <= ?3) ORDER BY r."id" COLLATE BINARY LIMIT ?4;
-- []interface {}{"acme", 5, -6, 11}

-- below all integers
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND (r."likes" >= ?2 AND r."rank" < ?3) ORDER BY r."id" COLLATE BINARY LIMIT ?4;
-- []interface {}{"acme", -9223372036854775808, -9223372036854775808, 11}

-- document equal text
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND ((CASE json_type(r."doc", '$."c_a"') WHEN 'false' THEN 1 WHEN 'true' THEN 2 WHEN 'integer' THEN 3 WHEN 'real' THEN 3 WHEN 'text' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) = 4 AND (CASE json_type(r."doc", '$."c_a"') WHEN 'text' THEN json_extract(r."doc", '$."c_a"') END) COLLATE BINARY = ?2 AND (CASE WHEN json_type(r."doc", '$."c_a"') IN ('integer', 'real') THEN json_extract(r."doc", '$."c_a"') END) IS NULL) ORDER BY r."id" COLLATE BINARY LIMIT ?3;
-- []interface {}{"acme", "x", 11}

-- document equal number
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND ((CASE json_type(r."doc", '$."c_b"."c-d"') WHEN 'false' THEN 1 WHEN 'true' THEN 2 WHEN 'integer' THEN 3 WHEN 'real' THEN 3 WHEN 'text' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) = 3 AND (CASE WHEN json_type(r."doc", '$."c_b"."c-d"') IN ('integer', 'real') THEN json_extract(r."doc", '$."c_b"."c-d"') END) = +CAST(?2 AS REAL)) ORDER BY r."id" COLLATE BINARY LIMIT ?3;
-- []interface {}{"acme", "1.50", 11}

-- document null
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND (CASE json_type(r."doc", '$."c_a"') WHEN 'false' THEN 1 WHEN 'true' THEN 2 WHEN 'integer' THEN 3 WHEN 'real' THEN 3 WHEN 'text' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) = 0 ORDER BY r."id" COLLATE BINARY LIMIT ?2;
-- []interface {}{"acme", 11}

-- document boolean
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND (CASE json_type(r."doc", '$."c_a"') WHEN 'false' THEN 1 WHEN 'true' THEN 2 WHEN 'integer' THEN 3 WHEN 'real' THEN 3 WHEN 'text' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) IN (1, 2) ORDER BY r."id" COLLATE BINARY LIMIT ?2;
-- []interface {}{"acme", 11}

-- document boolean below none
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND FALSE ORDER BY r."id" COLLATE BINARY LIMIT ?2;
-- []interface {}{"acme", 11}

-- document boolean above one
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND (CASE json_type(r."doc", '$."c_a"') WHEN 'false' THEN 1 WHEN 'true' THEN 2 WHEN 'integer' THEN 3 WHEN 'real' THEN 3 WHEN 'text' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) IN (2) ORDER BY r."id" COLLATE BINARY LIMIT ?2;
-- []interface {}{"acme", 11}

-- document boolean of both
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND (CASE json_type(r."doc", '$."c_a"') WHEN 'false' THEN 1 WHEN 'true' THEN 2 WHEN 'integer' THEN 3 WHEN 'real' THEN 3 WHEN 'text' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) IN (1, 2) ORDER BY r."id" COLLATE BINARY LIMIT ?2;
-- []interface {}{"acme", 11}

-- document greater
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND ((CASE json_type(r."doc", '$."c_a"') WHEN 'false' THEN 1 WHEN 'true' THEN 2 WHEN 'integer' THEN 3 WHEN 'real' THEN 3 WHEN 'text' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) = 3 AND (CASE WHEN json_type(r."doc", '$."c_a"') IN ('integer', 'real') THEN json_extract(r."doc", '$."c_a"') END) > ?2) ORDER BY r."id" COLLATE BINARY LIMIT ?3;
-- []interface {}{"acme", 5, 11}

-- document prefix
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND (((CASE json_type(r."doc", '$."c_a"') WHEN 'false' THEN 1 WHEN 'true' THEN 2 WHEN 'integer' THEN 3 WHEN 'real' THEN 3 WHEN 'text' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) = 4 AND (CASE json_type(r."doc", '$."c_a"') WHEN 'text' THEN json_extract(r."doc", '$."c_a"') END) COLLATE BINARY >= ?2 AND (CASE WHEN json_type(r."doc", '$."c_a"') IN ('integer', 'real') THEN json_extract(r."doc", '$."c_a"') END) IS NULL) AND ((CASE json_type(r."doc", '$."c_a"') WHEN 'false' THEN 1 WHEN 'true' THEN 2 WHEN 'integer' THEN 3 WHEN 'real' THEN 3 WHEN 'text' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) = 4 AND (CASE json_type(r."doc", '$."c_a"') WHEN 'text' THEN json_extract(r."doc", '$."c_a"') END) COLLATE BINARY < ?3 AND (CASE WHEN json_type(r."doc", '$."c_a"') IN ('integer', 'real') THEN json_extract(r."doc", '$."c_a"') END) IS NULL)) ORDER BY r."id" COLLATE BINARY LIMIT ?4;
-- []interface {}{"acme", "x", "y", 11}

-- document not less
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND NOT COALESCE(((CASE json_type(r."doc", '$."c_a"') WHEN 'false' THEN 1 WHEN 'true' THEN 2 WHEN 'integer' THEN 3 WHEN 'real' THEN 3 WHEN 'text' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) = 4 AND (CASE json_type(r."doc", '$."c_a"') WHEN 'text' THEN json_extract(r."doc", '$."c_a"') END) COLLATE BINARY < ?2 AND (CASE WHEN json_type(r."doc", '$."c_a"') IN ('integer', 'real') THEN json_extract(r."doc", '$."c_a"') END) IS NULL), FALSE) ORDER BY r."id" COLLATE BINARY LIMIT ?3;
-- []interface {}{"acme", "x", 11}

-- document in
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND ((CASE json_type(r."doc", '$."c_a"') WHEN 'false' THEN 1 WHEN 'true' THEN 2 WHEN 'integer' THEN 3 WHEN 'real' THEN 3 WHEN 'text' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) = 0 OR ((CASE json_type(r."doc", '$."c_a"') WHEN 'false' THEN 1 WHEN 'true' THEN 2 WHEN 'integer' THEN 3 WHEN 'real' THEN 3 WHEN 'text' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) IN (2) OR ((CASE json_type(r."doc", '$."c_a"') WHEN 'false' THEN 1 WHEN 'true' THEN 2 WHEN 'integer' THEN 3 WHEN 'real' THEN 3 WHEN 'text' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) = 3 AND (CASE WHEN json_type(r."doc", '$."c_a"') IN ('integer', 'real') THEN json_extract(r."doc", '$."c_a"') END) IN (?2, ?4)) OR ((CASE json_type(r."doc", '$."c_a"') WHEN 'false' THEN 1 WHEN 'true' THEN 2 WHEN 'integer' THEN 3 WHEN 'real' THEN 3 WHEN 'text' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) = 4 AND (CASE json_type(r."doc", '$."c_a"') WHEN 'text' THEN json_extract(r."doc", '$."c_a"') END) COLLATE BINARY IN (?3) AND (CASE WHEN json_type(r."doc", '$."c_a"') IN ('integer', 'real') THEN json_extract(r."doc", '$."c_a"') END) IS NULL))) ORDER BY r."id" COLLATE BINARY LIMIT ?5;
-- []interface {}{"acme", 1, "x", 2, 11}

-- document exists
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND json_type(r."doc", '$."c_b"."c-d"') IS NOT NULL ORDER BY r."id" COLLATE BINARY LIMIT ?2;
-- []interface {}{"acme", 11}

-- element
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND EXISTS (SELECT 1 FROM json_each(r."tags") AS e WHERE CASE e.type WHEN 'text' THEN e.value END IN (?2)) ORDER BY r."id" COLLATE BINARY LIMIT ?3;
-- []interface {}{"acme", "a", 11}

-- no element
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND NOT COALESCE(((r."tags" IS NULL OR EXISTS (SELECT 1 FROM json_each(r."tags") AS e WHERE e.type = 'null')) OR EXISTS (SELECT 1 FROM json_each(r."tags") AS e WHERE CASE e.type WHEN 'text' THEN e.value END IN (?2, ?3))), FALSE) ORDER BY r."id" COLLATE BINARY LIMIT ?4;
-- []interface {}{"acme", "a", "b", 11}

-- element above
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND (EXISTS (SELECT 1 FROM json_each(r."tags") AS e WHERE CASE e.type WHEN 'text' THEN e.value END > ?2) AND NOT COALESCE(FALSE, FALSE)) ORDER BY r."id" COLLATE BINARY LIMIT ?3;
-- []interface {}{"acme", "a", 11}

-- array exists
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND (r."tags" IS NOT NULL AND NOT ((r."tags" IS NULL OR EXISTS (SELECT 1 FROM json_each(r."tags") AS e WHERE e.type = 'null')))) ORDER BY r."id" COLLATE BINARY LIMIT ?2;
-- []interface {}{"acme", 11}

-- document with a base
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND ((CASE json_type(r."meta", '$."po"') WHEN 'false' THEN 1 WHEN 'true' THEN 2 WHEN 'integer' THEN 3 WHEN 'real' THEN 3 WHEN 'text' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) = 4 AND (CASE json_type(r."meta", '$."po"') WHEN 'text' THEN json_extract(r."meta", '$."po"') END) COLLATE BINARY = ?2 AND (CASE WHEN json_type(r."meta", '$."po"') IN ('integer', 'real') THEN json_extract(r."meta", '$."po"') END) IS NULL) ORDER BY r."id" COLLATE BINARY LIMIT ?3;
-- []interface {}{"acme", "x", 11}

-- expression
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND NOT COALESCE((lower(email)) COLLATE BINARY = ?2, FALSE) ORDER BY (lower(email)) COLLATE BINARY DESC, r."id" COLLATE BINARY LIMIT ?3;
-- []interface {}{"acme", "a", 11}

-- keyset of an expression
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND ((lower(email)), r."id") > ((+?2) COLLATE BINARY, ?3 COLLATE BINARY) ORDER BY (lower(email)) COLLATE BINARY, r."id" COLLATE BINARY LIMIT ?4;
-- []interface {}{"acme", "a", "n7", 11}

-- sort
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 ORDER BY r."title" COLLATE BINARY DESC, r."likes", r."id" COLLATE BINARY LIMIT ?2;
-- []interface {}{"acme", 11}

-- sort by a document
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 ORDER BY (CASE json_type(r."doc", '$."c_a"') WHEN 'false' THEN 1 WHEN 'true' THEN 2 WHEN 'integer' THEN 3 WHEN 'real' THEN 3 WHEN 'text' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) DESC, (CASE WHEN json_type(r."doc", '$."c_a"') IN ('integer', 'real') THEN json_extract(r."doc", '$."c_a"') END) DESC, (CASE json_type(r."doc", '$."c_a"') WHEN 'text' THEN json_extract(r."doc", '$."c_a"') END) COLLATE BINARY DESC, r."id" COLLATE BINARY LIMIT ?2;
-- []interface {}{"acme", 11}

-- sort by _id first
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 ORDER BY r."id" COLLATE BINARY DESC LIMIT ?2;
-- []interface {}{"acme", 11}

-- keyset by _id
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND r."id" COLLATE BINARY > ?2 ORDER BY r."id" COLLATE BINARY LIMIT ?3;
-- []interface {}{"acme", "n7", 11}

-- keyset of one direction
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND r."org" COLLATE BINARY = ?2 AND (r."likes", r."id") > ((+?3), ?4 COLLATE BINARY) ORDER BY r."likes", r."id" COLLATE BINARY LIMIT ?5;
-- []interface {}{"acme", "acme", 5, "n7", 11}

-- keyset of one direction down
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND (r."likes", r."id") < ((+?2), ?3 COLLATE BINARY) ORDER BY r."likes" DESC, r."id" COLLATE BINARY DESC LIMIT ?4;
-- []interface {}{"acme", 5, "n7", 11}

-- keyset of mixed directions
SELECT r."id", r."doc" FROM (SELECT * FROM (SELECT r."id", r."doc", r."likes" AS "key 1", r."id" COLLATE BINARY AS "key 2" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND r."org" COLLATE BINARY = ?2 AND r."likes" < ?3 ORDER BY r."likes" DESC, r."id" COLLATE BINARY LIMIT ?5) AS part UNION ALL SELECT * FROM (SELECT r."id", r."doc", r."likes" AS "key 1", r."id" COLLATE BINARY AS "key 2" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND r."org" COLLATE BINARY = ?2 AND (r."likes" = ?3 AND r."id" COLLATE BINARY > ?4) ORDER BY r."id" COLLATE BINARY LIMIT ?5) AS part) AS r ORDER BY "key 1" DESC, "key 2" LIMIT ?6;
-- []interface {}{"acme", "acme", 5, "n7", 11, 11}

-- keyset from a null
SELECT r."id", r."doc" FROM (SELECT * FROM (SELECT r."id", r."doc", r."title" COLLATE BINARY AS "key 1", r."id" COLLATE BINARY AS "key 2" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND r."title" IS NOT NULL ORDER BY r."title" COLLATE BINARY, r."id" COLLATE BINARY LIMIT ?3) AS part UNION ALL SELECT * FROM (SELECT r."id", r."doc", r."title" COLLATE BINARY AS "key 1", r."id" COLLATE BINARY AS "key 2" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND (r."title" IS NULL AND r."id" COLLATE BINARY > ?2) ORDER BY r."id" COLLATE BINARY LIMIT ?3) AS part) AS r ORDER BY "key 1", "key 2" LIMIT ?4;
-- []interface {}{"acme", "n7", 11, 11}

-- keyset down to null
SELECT r."id", r."doc" FROM (SELECT * FROM (SELECT r."id", r."doc", r."title" COLLATE BINARY AS "key 1", r."id" COLLATE BINARY AS "key 2" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND r."title" COLLATE BINARY < ?2 ORDER BY r."title" COLLATE BINARY DESC, r."id" COLLATE BINARY LIMIT ?4) AS part UNION ALL SELECT * FROM (SELECT r."id", r."doc", r."title" COLLATE BINARY AS "key 1", r."id" COLLATE BINARY AS "key 2" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND r."title" IS NULL ORDER BY r."title" COLLATE BINARY DESC, r."id" COLLATE BINARY LIMIT ?4) AS part UNION ALL SELECT * FROM (SELECT r."id", r."doc", r."title" COLLATE BINARY AS "key 1", r."id" COLLATE BINARY AS "key 2" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND (r."title" COLLATE BINARY = ?2 AND r."id" COLLATE BINARY > ?3) ORDER BY r."id" COLLATE BINARY LIMIT ?4) AS part) AS r ORDER BY "key 1" DESC, "key 2" LIMIT ?5;
-- []interface {}{"acme", "a", "n7", 11, 11}

-- keyset down to null, of one direction
SELECT r."id", r."doc" FROM (SELECT * FROM (SELECT r."id", r."doc", r."title" COLLATE BINARY AS "key 1", r."id" COLLATE BINARY AS "key 2" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND r."title" COLLATE BINARY < ?2 ORDER BY r."title" COLLATE BINARY DESC, r."id" COLLATE BINARY DESC LIMIT ?4) AS part UNION ALL SELECT * FROM (SELECT r."id", r."doc", r."title" COLLATE BINARY AS "key 1", r."id" COLLATE BINARY AS "key 2" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND r."title" IS NULL ORDER BY r."title" COLLATE BINARY DESC, r."id" COLLATE BINARY DESC LIMIT ?4) AS part UNION ALL SELECT * FROM (SELECT r."id", r."doc", r."title" COLLATE BINARY AS "key 1", r."id" COLLATE BINARY AS "key 2" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND (r."title" COLLATE BINARY = ?2 AND r."id" COLLATE BINARY < ?3) ORDER BY r."id" COLLATE BINARY DESC LIMIT ?4) AS part) AS r ORDER BY "key 1" DESC, "key 2" DESC LIMIT ?5;
-- []interface {}{"acme", "a", "n7", 11, 11}

-- keyset of a document
SELECT r."id", r."doc" FROM (SELECT * FROM (SELECT r."id", r."doc", (CASE json_type(r."doc", '$."c_a"') WHEN 'false' THEN 1 WHEN 'true' THEN 2 WHEN 'integer' THEN 3 WHEN 'real' THEN 3 WHEN 'text' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) AS "key 1", (CASE WHEN json_type(r."doc", '$."c_a"') IN ('integer', 'real') THEN json_extract(r."doc", '$."c_a"') END) AS "key 2", (CASE json_type(r."doc", '$."c_a"') WHEN 'text' THEN json_extract(r."doc", '$."c_a"') END) COLLATE BINARY AS "key 3", r."id" COLLATE BINARY AS "key 4" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND (CASE json_type(r."doc", '$."c_a"') WHEN 'false' THEN 1 WHEN 'true' THEN 2 WHEN 'integer' THEN 3 WHEN 'real' THEN 3 WHEN 'text' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) > 3 ORDER BY (CASE json_type(r."doc", '$."c_a"') WHEN 'false' THEN 1 WHEN 'true' THEN 2 WHEN 'integer' THEN 3 WHEN 'real' THEN 3 WHEN 'text' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END), (CASE WHEN json_type(r."doc", '$."c_a"') IN ('integer', 'real') THEN json_extract(r."doc", '$."c_a"') END), (CASE json_type(r."doc", '$."c_a"') WHEN 'text' THEN json_extract(r."doc", '$."c_a"') END) COLLATE BINARY, r."id" COLLATE BINARY LIMIT ?4) AS part UNION ALL SELECT * FROM (SELECT r."id", r."doc", (CASE json_type(r."doc", '$."c_a"') WHEN 'false' THEN 1 WHEN 'true' THEN 2 WHEN 'integer' THEN 3 WHEN 'real' THEN 3 WHEN 'text' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) AS "key 1", (CASE WHEN json_type(r."doc", '$."c_a"') IN ('integer', 'real') THEN json_extract(r."doc", '$."c_a"') END) AS "key 2", (CASE json_type(r."doc", '$."c_a"') WHEN 'text' THEN json_extract(r."doc", '$."c_a"') END) COLLATE BINARY AS "key 3", r."id" COLLATE BINARY AS "key 4" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND ((CASE json_type(r."doc", '$."c_a"') WHEN 'false' THEN 1 WHEN 'true' THEN 2 WHEN 'integer' THEN 3 WHEN 'real' THEN 3 WHEN 'text' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) = 3 AND (CASE WHEN json_type(r."doc", '$."c_a"') IN ('integer', 'real') THEN json_extract(r."doc", '$."c_a"') END) > ?2) ORDER BY (CASE WHEN json_type(r."doc", '$."c_a"') IN ('integer', 'real') THEN json_extract(r."doc", '$."c_a"') END), (CASE json_type(r."doc", '$."c_a"') WHEN 'text' THEN json_extract(r."doc", '$."c_a"') END) COLLATE BINARY, r."id" COLLATE BINARY LIMIT ?4) AS part UNION ALL SELECT * FROM (SELECT r."id", r."doc", (CASE json_type(r."doc", '$."c_a"') WHEN 'false' THEN 1 WHEN 'true' THEN 2 WHEN 'integer' THEN 3 WHEN 'real' THEN 3 WHEN 'text' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) AS "key 1", (CASE WHEN json_type(r."doc", '$."c_a"') IN ('integer', 'real') THEN json_extract(r."doc", '$."c_a"') END) AS "key 2", (CASE json_type(r."doc", '$."c_a"') WHEN 'text' THEN json_extract(r."doc", '$."c_a"') END) COLLATE BINARY AS "key 3", r."id" COLLATE BINARY AS "key 4" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND ((CASE json_type(r."doc", '$."c_a"') WHEN 'false' THEN 1 WHEN 'true' THEN 2 WHEN 'integer' THEN 3 WHEN 'real' THEN 3 WHEN 'text' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) = 3 AND (CASE WHEN json_type(r."doc", '$."c_a"') IN ('integer', 'real') THEN json_extract(r."doc", '$."c_a"') END) = ?2 AND (CASE json_type(r."doc", '$."c_a"') WHEN 'text' THEN json_extract(r."doc", '$."c_a"') END) COLLATE BINARY IS NULL AND r."id" COLLATE BINARY > ?3) ORDER BY r."id" COLLATE BINARY LIMIT ?4) AS part) AS r ORDER BY "key 1", "key 2", "key 3", "key 4" LIMIT ?5;
-- []interface {}{"acme", 5, "n7", 11, 11}

-- keyset of a document down
SELECT r."id", r."doc" FROM (SELECT * FROM (SELECT r."id", r."doc", (CASE json_type(r."doc", '$."c_a"') WHEN 'false' THEN 1 WHEN 'true' THEN 2 WHEN 'integer' THEN 3 WHEN 'real' THEN 3 WHEN 'text' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) AS "key 1", (CASE WHEN json_type(r."doc", '$."c_a"') IN ('integer', 'real') THEN json_extract(r."doc", '$."c_a"') END) AS "key 2", (CASE json_type(r."doc", '$."c_a"') WHEN 'text' THEN json_extract(r."doc", '$."c_a"') END) COLLATE BINARY AS "key 3", r."id" COLLATE BINARY AS "key 4" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND (CASE json_type(r."doc", '$."c_a"') WHEN 'false' THEN 1 WHEN 'true' THEN 2 WHEN 'integer' THEN 3 WHEN 'real' THEN 3 WHEN 'text' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) < 4 ORDER BY (CASE json_type(r."doc", '$."c_a"') WHEN 'false' THEN 1 WHEN 'true' THEN 2 WHEN 'integer' THEN 3 WHEN 'real' THEN 3 WHEN 'text' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) DESC, (CASE WHEN json_type(r."doc", '$."c_a"') IN ('integer', 'real') THEN json_extract(r."doc", '$."c_a"') END) DESC, (CASE json_type(r."doc", '$."c_a"') WHEN 'text' THEN json_extract(r."doc", '$."c_a"') END) COLLATE BINARY DESC, r."id" COLLATE BINARY LIMIT ?4) AS part UNION ALL SELECT * FROM (SELECT r."id", r."doc", (CASE json_type(r."doc", '$."c_a"') WHEN 'false' THEN 1 WHEN 'true' THEN 2 WHEN 'integer' THEN 3 WHEN 'real' THEN 3 WHEN 'text' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) AS "key 1", (CASE WHEN json_type(r."doc", '$."c_a"') IN ('integer', 'real') THEN json_extract(r."doc", '$."c_a"') END) AS "key 2", (CASE json_type(r."doc", '$."c_a"') WHEN 'text' THEN json_extract(r."doc", '$."c_a"') END) COLLATE BINARY AS "key 3", r."id" COLLATE BINARY AS "key 4" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND ((CASE json_type(r."doc", '$."c_a"') WHEN 'false' THEN 1 WHEN 'true' THEN 2 WHEN 'integer' THEN 3 WHEN 'real' THEN 3 WHEN 'text' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) = 4 AND (CASE WHEN json_type(r."doc", '$."c_a"') IN ('integer', 'real') THEN json_extract(r."doc", '$."c_a"') END) IS NULL AND (CASE json_type(r."doc", '$."c_a"') WHEN 'text' THEN json_extract(r."doc", '$."c_a"') END) COLLATE BINARY < ?2) ORDER BY (CASE json_type(r."doc", '$."c_a"') WHEN 'text' THEN json_extract(r."doc", '$."c_a"') END) COLLATE BINARY DESC, r."id" COLLATE BINARY LIMIT ?4) AS part UNION ALL SELECT * FROM (SELECT r."id", r."doc", (CASE json_type(r."doc", '$."c_a"') WHEN 'false' THEN 1 WHEN 'true' THEN 2 WHEN 'integer' THEN 3 WHEN 'real' THEN 3 WHEN 'text' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) AS "key 1", (CASE WHEN json_type(r."doc", '$."c_a"') IN ('integer', 'real') THEN json_extract(r."doc", '$."c_a"') END) AS "key 2", (CASE json_type(r."doc", '$."c_a"') WHEN 'text' THEN json_extract(r."doc", '$."c_a"') END) COLLATE BINARY AS "key 3", r."id" COLLATE BINARY AS "key 4" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND ((CASE json_type(r."doc", '$."c_a"') WHEN 'false' THEN 1 WHEN 'true' THEN 2 WHEN 'integer' THEN 3 WHEN 'real' THEN 3 WHEN 'text' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) = 4 AND (CASE WHEN json_type(r."doc", '$."c_a"') IN ('integer', 'real') THEN json_extract(r."doc", '$."c_a"') END) IS NULL AND (CASE json_type(r."doc", '$."c_a"') WHEN 'text' THEN json_extract(r."doc", '$."c_a"') END) COLLATE BINARY = ?2 AND r."id" COLLATE BINARY > ?3) ORDER BY r."id" COLLATE BINARY LIMIT ?4) AS part) AS r ORDER BY "key 1" DESC, "key 2" DESC, "key 3" DESC, "key 4" LIMIT ?5;
-- []interface {}{"acme", "x", "n7", 11, 11}

-- keyset with null not last
SELECT r."id", r."doc" FROM (SELECT * FROM (SELECT r."id", r."doc", r."likes" AS "key 1", r."rank" AS "key 2", r."id" COLLATE BINARY AS "key 3" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND r."likes" > ?2 ORDER BY r."likes", r."rank" DESC, r."id" COLLATE BINARY LIMIT ?4) AS part UNION ALL SELECT * FROM (SELECT r."id", r."doc", r."likes" AS "key 1", r."rank" AS "key 2", r."id" COLLATE BINARY AS "key 3" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND (r."likes" = ?2 AND r."rank" IS NULL AND r."id" COLLATE BINARY > ?3) ORDER BY r."id" COLLATE BINARY LIMIT ?4) AS part) AS r ORDER BY "key 1", "key 2" DESC, "key 3" LIMIT ?5;
-- []interface {}{"acme", 5, "n7", 11, 11}

-- keyset of a text among integers
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND FALSE ORDER BY r."rank", r."id" COLLATE BINARY LIMIT ?2;
-- []interface {}{"acme", 11}

-- keyset of a text among integers down
SELECT r."id", r."doc" FROM (SELECT * FROM (SELECT r."id", r."doc", r."rank" AS "key 1", r."id" COLLATE BINARY AS "key 2" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND r."rank" IS NOT NULL ORDER BY r."rank" DESC, r."id" COLLATE BINARY LIMIT ?2) AS part UNION ALL SELECT * FROM (SELECT r."id", r."doc", r."rank" AS "key 1", r."id" COLLATE BINARY AS "key 2" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND r."rank" IS NULL ORDER BY r."rank" DESC, r."id" COLLATE BINARY LIMIT ?2) AS part) AS r ORDER BY "key 1" DESC, "key 2" LIMIT ?3;
-- []interface {}{"acme", 11, 11}

-- keyset between integers
SELECT r."id", r."doc" FROM (SELECT * FROM (SELECT r."id", r."doc", r."rank" AS "key 1", r."id" COLLATE BINARY AS "key 2" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND r."rank" > ?2 ORDER BY r."rank", r."id" COLLATE BINARY LIMIT ?3) AS part) AS r ORDER BY "key 1", "key 2" LIMIT ?4;
-- []interface {}{"acme", 5, 11, 11}

-- keyset after all texts
SELECT r."id", r."doc" FROM (SELECT * FROM (SELECT r."id", r."doc", r."title" COLLATE BINARY AS "key 1", r."id" COLLATE BINARY AS "key 2" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND r."title" IS NULL ORDER BY r."title" COLLATE BINARY DESC, r."id" COLLATE BINARY LIMIT ?2) AS part) AS r ORDER BY "key 1" DESC, "key 2" LIMIT ?3;
-- []interface {}{"acme", 11, 11}

-- keyset after all booleans
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND FALSE ORDER BY r."is_open", r."id" COLLATE BINARY LIMIT ?2;
-- []interface {}{"acme", 11}

-- keyset after all booleans down
SELECT r."id", r."doc" FROM (SELECT * FROM (SELECT r."id", r."doc", r."is_open" AS "key 1", r."id" COLLATE BINARY AS "key 2" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND r."is_open" IS NOT NULL ORDER BY r."is_open" DESC, r."id" COLLATE BINARY LIMIT ?2) AS part UNION ALL SELECT * FROM (SELECT r."id", r."doc", r."is_open" AS "key 1", r."id" COLLATE BINARY AS "key 2" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND r."is_open" IS NULL ORDER BY r."is_open" DESC, r."id" COLLATE BINARY LIMIT ?2) AS part) AS r ORDER BY "key 1" DESC, "key 2" LIMIT ?3;
-- []interface {}{"acme", 11, 11}

-- keyset before all integers
SELECT r."id", r."doc" FROM (SELECT * FROM (SELECT r."id", r."doc", r."rank" AS "key 1", r."id" COLLATE BINARY AS "key 2" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND r."rank" IS NOT NULL ORDER BY r."rank", r."id" COLLATE BINARY LIMIT ?2) AS part) AS r ORDER BY "key 1", "key 2" LIMIT ?3;
-- []interface {}{"acme", 11, 11}

-- keyset before all integers down
SELECT r."id", r."doc" FROM (SELECT * FROM (SELECT r."id", r."doc", r."rank" AS "key 1", r."id" COLLATE BINARY AS "key 2" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND r."rank" IS NULL ORDER BY r."rank" DESC, r."id" COLLATE BINARY LIMIT ?2) AS part) AS r ORDER BY "key 1" DESC, "key 2" LIMIT ?3;
-- []interface {}{"acme", 11, 11}

-- keyset of a document's null
SELECT r."id", r."doc" FROM (SELECT * FROM (SELECT r."id", r."doc", (CASE json_type(r."doc", '$."c_a"') WHEN 'false' THEN 1 WHEN 'true' THEN 2 WHEN 'integer' THEN 3 WHEN 'real' THEN 3 WHEN 'text' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) AS "key 1", (CASE WHEN json_type(r."doc", '$."c_a"') IN ('integer', 'real') THEN json_extract(r."doc", '$."c_a"') END) AS "key 2", (CASE json_type(r."doc", '$."c_a"') WHEN 'text' THEN json_extract(r."doc", '$."c_a"') END) COLLATE BINARY AS "key 3", r."id" COLLATE BINARY AS "key 4" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND (CASE json_type(r."doc", '$."c_a"') WHEN 'false' THEN 1 WHEN 'true' THEN 2 WHEN 'integer' THEN 3 WHEN 'real' THEN 3 WHEN 'text' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) > 0 ORDER BY (CASE json_type(r."doc", '$."c_a"') WHEN 'false' THEN 1 WHEN 'true' THEN 2 WHEN 'integer' THEN 3 WHEN 'real' THEN 3 WHEN 'text' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END), (CASE WHEN json_type(r."doc", '$."c_a"') IN ('integer', 'real') THEN json_extract(r."doc", '$."c_a"') END), (CASE json_type(r."doc", '$."c_a"') WHEN 'text' THEN json_extract(r."doc", '$."c_a"') END) COLLATE BINARY, r."id" COLLATE BINARY LIMIT ?3) AS part UNION ALL SELECT * FROM (SELECT r."id", r."doc", (CASE json_type(r."doc", '$."c_a"') WHEN 'false' THEN 1 WHEN 'true' THEN 2 WHEN 'integer' THEN 3 WHEN 'real' THEN 3 WHEN 'text' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) AS "key 1", (CASE WHEN json_type(r."doc", '$."c_a"') IN ('integer', 'real') THEN json_extract(r."doc", '$."c_a"') END) AS "key 2", (CASE json_type(r."doc", '$."c_a"') WHEN 'text' THEN json_extract(r."doc", '$."c_a"') END) COLLATE BINARY AS "key 3", r."id" COLLATE BINARY AS "key 4" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND ((CASE json_type(r."doc", '$."c_a"') WHEN 'false' THEN 1 WHEN 'true' THEN 2 WHEN 'integer' THEN 3 WHEN 'real' THEN 3 WHEN 'text' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) = 0 AND (CASE WHEN json_type(r."doc", '$."c_a"') IN ('integer', 'real') THEN json_extract(r."doc", '$."c_a"') END) IS NULL AND (CASE json_type(r."doc", '$."c_a"') WHEN 'text' THEN json_extract(r."doc", '$."c_a"') END) COLLATE BINARY IS NULL AND r."id" COLLATE BINARY > ?2) ORDER BY r."id" COLLATE BINARY LIMIT ?3) AS part) AS r ORDER BY "key 1", "key 2", "key 3", "key 4" LIMIT ?4;
-- []interface {}{"acme", "n7", 11, 11}

-- keyset of a document's null down
SELECT r."id", r."doc" FROM (SELECT * FROM (SELECT r."id", r."doc", r."likes" AS "key 1", (CASE json_type(r."doc", '$."c_a"') WHEN 'false' THEN 1 WHEN 'true' THEN 2 WHEN 'integer' THEN 3 WHEN 'real' THEN 3 WHEN 'text' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) AS "key 2", (CASE WHEN json_type(r."doc", '$."c_a"') IN ('integer', 'real') THEN json_extract(r."doc", '$."c_a"') END) AS "key 3", (CASE json_type(r."doc", '$."c_a"') WHEN 'text' THEN json_extract(r."doc", '$."c_a"') END) COLLATE BINARY AS "key 4", r."id" COLLATE BINARY AS "key 5" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND r."likes" > ?2 ORDER BY r."likes", (CASE json_type(r."doc", '$."c_a"') WHEN 'false' THEN 1 WHEN 'true' THEN 2 WHEN 'integer' THEN 3 WHEN 'real' THEN 3 WHEN 'text' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) DESC, (CASE WHEN json_type(r."doc", '$."c_a"') IN ('integer', 'real') THEN json_extract(r."doc", '$."c_a"') END) DESC, (CASE json_type(r."doc", '$."c_a"') WHEN 'text' THEN json_extract(r."doc", '$."c_a"') END) COLLATE BINARY DESC, r."id" COLLATE BINARY LIMIT ?4) AS part UNION ALL SELECT * FROM (SELECT r."id", r."doc", r."likes" AS "key 1", (CASE json_type(r."doc", '$."c_a"') WHEN 'false' THEN 1 WHEN 'true' THEN 2 WHEN 'integer' THEN 3 WHEN 'real' THEN 3 WHEN 'text' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) AS "key 2", (CASE WHEN json_type(r."doc", '$."c_a"') IN ('integer', 'real') THEN json_extract(r."doc", '$."c_a"') END) AS "key 3", (CASE json_type(r."doc", '$."c_a"') WHEN 'text' THEN json_extract(r."doc", '$."c_a"') END) COLLATE BINARY AS "key 4", r."id" COLLATE BINARY AS "key 5" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND (r."likes" = ?2 AND (CASE json_type(r."doc", '$."c_a"') WHEN 'false' THEN 1 WHEN 'true' THEN 2 WHEN 'integer' THEN 3 WHEN 'real' THEN 3 WHEN 'text' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) = 0 AND (CASE WHEN json_type(r."doc", '$."c_a"') IN ('integer', 'real') THEN json_extract(r."doc", '$."c_a"') END) IS NULL AND (CASE json_type(r."doc", '$."c_a"') WHEN 'text' THEN json_extract(r."doc", '$."c_a"') END) COLLATE BINARY IS NULL AND r."id" COLLATE BINARY > ?3) ORDER BY r."id" COLLATE BINARY LIMIT ?4) AS part) AS r ORDER BY "key 1", "key 2" DESC, "key 3" DESC, "key 4" DESC, "key 5" LIMIT ?5;
-- []interface {}{"acme", 5, "n7", 11, 11}

-- keyset of a document's boolean
SELECT r."id", r."doc" FROM (SELECT * FROM (SELECT r."id", r."doc", (CASE json_type(r."doc", '$."c_a"') WHEN 'false' THEN 1 WHEN 'true' THEN 2 WHEN 'integer' THEN 3 WHEN 'real' THEN 3 WHEN 'text' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) AS "key 1", (CASE WHEN json_type(r."doc", '$."c_a"') IN ('integer', 'real') THEN json_extract(r."doc", '$."c_a"') END) AS "key 2", (CASE json_type(r."doc", '$."c_a"') WHEN 'text' THEN json_extract(r."doc", '$."c_a"') END) COLLATE BINARY AS "key 3", r."id" COLLATE BINARY AS "key 4" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND (CASE json_type(r."doc", '$."c_a"') WHEN 'false' THEN 1 WHEN 'true' THEN 2 WHEN 'integer' THEN 3 WHEN 'real' THEN 3 WHEN 'text' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) > 1 ORDER BY (CASE json_type(r."doc", '$."c_a"') WHEN 'false' THEN 1 WHEN 'true' THEN 2 WHEN 'integer' THEN 3 WHEN 'real' THEN 3 WHEN 'text' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END), (CASE WHEN json_type(r."doc", '$."c_a"') IN ('integer', 'real') THEN json_extract(r."doc", '$."c_a"') END), (CASE json_type(r."doc", '$."c_a"') WHEN 'text' THEN json_extract(r."doc", '$."c_a"') END) COLLATE BINARY, r."id" COLLATE BINARY LIMIT ?3) AS part UNION ALL SELECT * FROM (SELECT r."id", r."doc", (CASE json_type(r."doc", '$."c_a"') WHEN 'false' THEN 1 WHEN 'true' THEN 2 WHEN 'integer' THEN 3 WHEN 'real' THEN 3 WHEN 'text' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) AS "key 1", (CASE WHEN json_type(r."doc", '$."c_a"') IN ('integer', 'real') THEN json_extract(r."doc", '$."c_a"') END) AS "key 2", (CASE json_type(r."doc", '$."c_a"') WHEN 'text' THEN json_extract(r."doc", '$."c_a"') END) COLLATE BINARY AS "key 3", r."id" COLLATE BINARY AS "key 4" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND ((CASE json_type(r."doc", '$."c_a"') WHEN 'false' THEN 1 WHEN 'true' THEN 2 WHEN 'integer' THEN 3 WHEN 'real' THEN 3 WHEN 'text' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) = 1 AND (CASE WHEN json_type(r."doc", '$."c_a"') IN ('integer', 'real') THEN json_extract(r."doc", '$."c_a"') END) IS NULL AND (CASE json_type(r."doc", '$."c_a"') WHEN 'text' THEN json_extract(r."doc", '$."c_a"') END) COLLATE BINARY IS NULL AND r."id" COLLATE BINARY > ?2) ORDER BY r."id" COLLATE BINARY LIMIT ?3) AS part) AS r ORDER BY "key 1", "key 2", "key 3", "key 4" LIMIT ?4;
-- []interface {}{"acme", "n7", 11, 11}

-- keyset of a date down
SELECT r."id", r."doc" FROM (SELECT * FROM (SELECT r."id", r."doc", r."created_at" COLLATE BINARY AS "key 1", r."id" COLLATE BINARY AS "key 2" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND r."created_at" COLLATE BINARY < ?2 ORDER BY r."created_at" COLLATE BINARY DESC, r."id" COLLATE BINARY LIMIT ?4) AS part UNION ALL SELECT * FROM (SELECT r."id", r."doc", r."created_at" COLLATE BINARY AS "key 1", r."id" COLLATE BINARY AS "key 2" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND (r."created_at" COLLATE BINARY = ?2 AND r."id" COLLATE BINARY > ?3) ORDER BY r."id" COLLATE BINARY LIMIT ?4) AS part) AS r ORDER BY "key 1" DESC, "key 2" LIMIT ?5;
-- []interface {}{"acme", "2026-01-02T03:04:05.000Z", "n7", 11, 11}

-- keyset of a boolean down
SELECT r."id", r."doc" FROM (SELECT * FROM (SELECT r."id", r."doc", r."is_pinned" AS "key 1", r."id" COLLATE BINARY AS "key 2" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND r."is_pinned" < ?2 ORDER BY r."is_pinned" DESC, r."id" COLLATE BINARY LIMIT ?4) AS part UNION ALL SELECT * FROM (SELECT r."id", r."doc", r."is_pinned" AS "key 1", r."id" COLLATE BINARY AS "key 2" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND (r."is_pinned" = ?2 AND r."id" COLLATE BINARY > ?3) ORDER BY r."id" COLLATE BINARY LIMIT ?4) AS part) AS r ORDER BY "key 1" DESC, "key 2" LIMIT ?5;
-- []interface {}{"acme", 1, "n7", 11, 11}

-- not the keyset of this sort
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND (r."likes" > ?2 OR (r."likes" = ?3 AND r."id" COLLATE BINARY > ?4)) ORDER BY r."likes" DESC, r."id" COLLATE BINARY LIMIT ?5;
-- []interface {}{"acme", 5, 5, "n7", 11}

-- not the same value
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND (r."likes" > ?2 OR (r."likes" = ?3 AND r."id" COLLATE BINARY > ?4)) ORDER BY r."likes", r."id" COLLATE BINARY LIMIT ?5;
-- []interface {}{"acme", 5, 6, "n7", 11}

-- less, which is no keyset
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND (r."title" COLLATE BINARY < ?2 OR (r."title" COLLATE BINARY = ?3 AND r."id" COLLATE BINARY > ?4)) ORDER BY r."title" COLLATE BINARY DESC, r."id" COLLATE BINARY LIMIT ?5;
-- []interface {}{"acme", "a", "a", "n7", 11}


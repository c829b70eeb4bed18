-- everything
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme"}

-- nothing
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND FALSE ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme"}

-- equal text
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND r."title" COLLATE "C" = $2::text ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme", "a"}

-- equal null
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND r."title" IS NULL ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme"}

-- not equal
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND NOT COALESCE(r."title" COLLATE "C" = $2::text, FALSE) ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme", "a"}

-- not null
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND NOT (r."title" IS NULL) ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme"}

-- greater
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND r."title" COLLATE "C" > $2::text ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme", "a"}

-- greater or equal
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND r."likes" >= $2::bigint ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme", 5}

-- less
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND r."price" < $2::numeric ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme", "5.25"}

-- less or equal
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND r."weight" <= $2::double precision ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme", +Inf}

-- equal number, whole
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND r."price" = $2::numeric ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme", "5.0"}

-- less or equal, double
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND r."weight" <= $2::double precision ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme", 0.1}

-- in
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND (r."title" IS NULL OR r."title" COLLATE "C" IN ($2::text, $3::text)) ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme", "a", "b"}

-- in, a text among integers
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND r."rank" IN ($2::bigint) ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme", 1}

-- in nothing
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND FALSE ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme"}

-- not in
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND NOT COALESCE(r."likes" IN ($2::bigint, $3::bigint), FALSE) ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme", 1, 2}

-- exists
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND r."title" IS NOT NULL ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme"}

-- exists not
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND NOT (r."title" IS NOT NULL) ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme"}

-- prefix
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND (r."title" COLLATE "C" >= $2::text AND r."title" COLLATE "C" < $3::text) ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme", "a_%", "a_&"}

-- not a prefix
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND NOT COALESCE(r."title" COLLATE "C" >= $2::text, FALSE) ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme", "\U0010ffff"}

-- prefix of an enum
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND (r."state"::text COLLATE "C" >= $2::text AND r."state"::text COLLATE "C" < $3::text) ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme", "op", "oq"}

-- prefix of a uuid
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND (FALSE AND FALSE) ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme"}

-- not
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND NOT COALESCE((r."likes" > $2::bigint AND r."likes" < $3::bigint), FALSE) ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme", 5, 9}

-- and, or, nor
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND (r."title" COLLATE "C" = $2::text AND (r."likes" = $3::bigint OR (r."likes" = $4::bigint AND r."rank" = $5::bigint)) AND NOT COALESCE((r."rank" = $6::bigint OR r."rank" = $7::bigint), FALSE)) ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme", "a", 1, 2, 3, 1, 2}

-- boolean
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND r."is_open" >= $2::boolean ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme", true}

-- boolean that is false
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND (r."is_open" = $2::boolean AND NOT COALESCE(r."is_pinned" = $3::boolean, FALSE)) ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme", false, true}

-- date
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND r."created_at" > $2::timestamptz ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme", time.Date(2026, time.January, 2, 3, 4, 5, 0, time.UTC)}

-- date of any precision
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND date_trunc('milliseconds', r."changed_at" AT TIME ZONE 'UTC') <= $2::timestamptz AT TIME ZONE 'UTC' ORDER BY date_trunc('milliseconds', r."changed_at" AT TIME ZONE 'UTC') DESC NULLS LAST, r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme", time.Date(2026, time.January, 2, 3, 4, 5, 0, time.UTC)}

-- day
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND r."day" = $2::timestamptz AT TIME ZONE 'UTC' ORDER BY r."day" NULLS FIRST, r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme", time.Date(2026, time.January, 2, 0, 0, 0, 0, time.UTC)}

-- within a day
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND (r."day" >= $2::timestamptz AT TIME ZONE 'UTC' AND NOT COALESCE(r."day" = $3::timestamptz AT TIME ZONE 'UTC', FALSE)) ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme", time.Date(2026, time.January, 2, 3, 4, 5, 0, time.UTC), time.Date(2026, time.January, 2, 3, 4, 5, 0, time.UTC)}

-- uuid
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND r."author" > $2::uuid ORDER BY r."author" DESC NULLS LAST, r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme", "0e984725-c51c-4bf4-9960-e1c80e27aba0"}

-- enum
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND r."state"::text COLLATE "C" IN ($2::text, $3::text) ORDER BY r."state"::text COLLATE "C" DESC, r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme", "open", "x"}

-- uuid in
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND (r."author" IS NULL OR r."author" IN ($2::uuid)) ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme", "0e984725-c51c-4bf4-9960-e1c80e27aba0"}

-- uuid that is none
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND (FALSE AND NOT COALESCE(FALSE, FALSE)) ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme"}

-- keyset of uuid and date
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND (date_trunc('milliseconds', r."changed_at" AT TIME ZONE 'UTC'), r."author", r."id" COLLATE "C") > ((SELECT $2::timestamptz AT TIME ZONE 'UTC'), $3::uuid, $4::text) ORDER BY date_trunc('milliseconds', r."changed_at" AT TIME ZONE 'UTC') NULLS FIRST, r."author" NULLS FIRST, r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme", time.Date(2026, time.January, 2, 3, 4, 5, 0, time.UTC), "0e984725-c51c-4bf4-9960-e1c80e27aba0", "n7"}

-- a text for an integer
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND FALSE ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme"}

-- between integers
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND (r."likes" > $2::bigint AND r."rank" > $3::bigint) ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme", 5, -6}

-- below what is between integers
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND (r."likes" <= $2::bigint AND r."rank" <= $3::bigint) ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme", 5, -6}

-- below all integers
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND (r."likes" >= $2::bigint AND r."rank" < $3::bigint) ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme", -9223372036854775808, -9223372036854775808}

-- document equal text
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND ((CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) = 4 AND (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'string' THEN (r."doc" -> 'c_a') #>> '{}' END) COLLATE "C" = $2::text AND (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'number' THEN (r."doc" -> 'c_a')::numeric END) IS NULL) ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme", "x"}

-- document equal number
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND ((CASE jsonb_typeof(r."doc" -> 'c_b' -> 'c-d') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_b' -> 'c-d' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) = 3 AND (CASE jsonb_typeof(r."doc" -> 'c_b' -> 'c-d') WHEN 'number' THEN (r."doc" -> 'c_b' -> 'c-d')::numeric END) = $2::numeric) ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme", "1.50"}

-- document null
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) = 0 ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme"}

-- document boolean
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) IN (1, 2) ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme"}

-- document boolean below none
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND FALSE ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme"}

-- document boolean above one
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) IN (2) ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme"}

-- document boolean of both
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) IN (1, 2) ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme"}

-- document greater
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND ((CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) = 3 AND (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'number' THEN (r."doc" -> 'c_a')::numeric END) > $2::numeric) ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme", "5"}

-- document prefix
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND (((CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) = 4 AND (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'string' THEN (r."doc" -> 'c_a') #>> '{}' END) COLLATE "C" >= $2::text AND (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'number' THEN (r."doc" -> 'c_a')::numeric END) IS NULL) AND ((CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) = 4 AND (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'string' THEN (r."doc" -> 'c_a') #>> '{}' END) COLLATE "C" < $3::text AND (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'number' THEN (r."doc" -> 'c_a')::numeric END) IS NULL)) ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme", "x", "y"}

-- document not less
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND NOT COALESCE(((CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) = 4 AND (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'string' THEN (r."doc" -> 'c_a') #>> '{}' END) COLLATE "C" < $2::text AND (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'number' THEN (r."doc" -> 'c_a')::numeric END) IS NULL), FALSE) ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme", "x"}

-- document in
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND ((CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) = 0 OR ((CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) IN (2) OR ((CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) = 3 AND (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'number' THEN (r."doc" -> 'c_a')::numeric END) IN ($2::numeric, $4::numeric)) OR ((CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) = 4 AND (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'string' THEN (r."doc" -> 'c_a') #>> '{}' END) COLLATE "C" IN ($3::text) AND (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'number' THEN (r."doc" -> 'c_a')::numeric END) IS NULL))) ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme", "1", "x", "2"}

-- document exists
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND (r."doc" -> 'c_b' -> 'c-d') IS NOT NULL ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme"}

-- element
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND r."tags" && ARRAY[$2::text] ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme", "a"}

-- no element
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND NOT COALESCE(((r."tags" IS NULL OR EXISTS (SELECT 1 FROM unnest(r."tags") AS e WHERE e IS NULL)) OR r."tags" && ARRAY[$2::text, $3::text]), FALSE) ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme", "a", "b"}

-- element above
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND (EXISTS (SELECT 1 FROM unnest(r."tags") AS e WHERE e COLLATE "C" > $2::text) AND NOT COALESCE(FALSE, FALSE)) ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme", "a"}

-- array exists
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND (r."tags" IS NOT NULL AND NOT ((r."tags" IS NULL OR EXISTS (SELECT 1 FROM unnest(r."tags") AS e WHERE e IS NULL)))) ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme"}

-- document with a base
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND ((CASE jsonb_typeof(r."meta" -> 'po') WHEN 'boolean' THEN CASE WHEN r."meta" -> 'po' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) = 4 AND (CASE jsonb_typeof(r."meta" -> 'po') WHEN 'string' THEN (r."meta" -> 'po') #>> '{}' END) COLLATE "C" = $2::text AND (CASE jsonb_typeof(r."meta" -> 'po') WHEN 'number' THEN (r."meta" -> 'po')::numeric END) IS NULL) ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme", "x"}

-- expression
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND NOT COALESCE((lower(email)) COLLATE "C" = $2::text, FALSE) ORDER BY (lower(email)) COLLATE "C" DESC NULLS LAST, r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme", "a"}

-- keyset of an expression
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND ((lower(email)) COLLATE "C", r."id" COLLATE "C") > ((SELECT $2::text), $3::text) ORDER BY (lower(email)) COLLATE "C" NULLS FIRST, r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme", "a", "n7"}

-- sort
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text ORDER BY r."title" COLLATE "C" DESC NULLS LAST, r."likes", r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme"}

-- sort by a document
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text ORDER BY (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) DESC, (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'number' THEN (r."doc" -> 'c_a')::numeric END) DESC, (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'string' THEN (r."doc" -> 'c_a') #>> '{}' END) COLLATE "C" DESC, r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme"}

-- sort by _id first
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text ORDER BY r."id" COLLATE "C" DESC LIMIT 11;
-- []interface {}{"acme"}

-- keyset by _id
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND r."id" COLLATE "C" > $2::text ORDER BY r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme", "n7"}

-- keyset of one direction
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND r."org" COLLATE "C" = $2::text AND (r."likes", r."id" COLLATE "C") > ((SELECT $3::bigint), $4::text) ORDER BY r."likes", r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme", "acme", 5, "n7"}

-- keyset of one direction down
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND (r."likes", r."id" COLLATE "C") < ((SELECT $2::bigint), $3::text) ORDER BY r."likes" DESC, r."id" COLLATE "C" DESC LIMIT 11;
-- []interface {}{"acme", 5, "n7"}

-- keyset of mixed directions
SELECT r."id", r."doc" FROM (SELECT * FROM (SELECT r."id", r."doc", r."likes" AS "key 1", r."id" COLLATE "C" AS "key 2" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND r."org" COLLATE "C" = $2::text AND r."likes" < $3::bigint ORDER BY r."likes" DESC, r."id" COLLATE "C" LIMIT 11) AS part UNION ALL SELECT * FROM (SELECT r."id", r."doc", r."likes" AS "key 1", r."id" COLLATE "C" AS "key 2" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND r."org" COLLATE "C" = $2::text AND (r."likes" = $3::bigint AND r."id" COLLATE "C" > $4::text) ORDER BY r."likes" DESC, r."id" COLLATE "C" LIMIT 11) AS part) AS r ORDER BY "key 1" DESC, "key 2" LIMIT 11;
-- []interface {}{"acme", "acme", 5, "n7"}

-- keyset from a null
SELECT r."id", r."doc" FROM (SELECT * FROM (SELECT r."id", r."doc", r."title" COLLATE "C" AS "key 1", r."id" COLLATE "C" AS "key 2" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND r."title" IS NOT NULL ORDER BY r."title" COLLATE "C" NULLS FIRST, r."id" COLLATE "C" LIMIT 11) AS part UNION ALL SELECT * FROM (SELECT r."id", r."doc", r."title" COLLATE "C" AS "key 1", r."id" COLLATE "C" AS "key 2" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND (r."title" IS NULL AND r."id" COLLATE "C" > $2::text) ORDER BY r."title" COLLATE "C" NULLS FIRST, r."id" COLLATE "C" LIMIT 11) AS part) AS r ORDER BY "key 1" NULLS FIRST, "key 2" LIMIT 11;
-- []interface {}{"acme", "n7"}

-- keyset down to null
SELECT r."id", r."doc" FROM (SELECT * FROM (SELECT r."id", r."doc", r."title" COLLATE "C" AS "key 1", r."id" COLLATE "C" AS "key 2" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND r."title" COLLATE "C" < $2::text ORDER BY r."title" COLLATE "C" DESC NULLS LAST, r."id" COLLATE "C" LIMIT 11) AS part UNION ALL SELECT * FROM (SELECT r."id", r."doc", r."title" COLLATE "C" AS "key 1", r."id" COLLATE "C" AS "key 2" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND r."title" IS NULL ORDER BY r."title" COLLATE "C" DESC NULLS LAST, r."id" COLLATE "C" LIMIT 11) AS part UNION ALL SELECT * FROM (SELECT r."id", r."doc", r."title" COLLATE "C" AS "key 1", r."id" COLLATE "C" AS "key 2" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND (r."title" COLLATE "C" = $2::text AND r."id" COLLATE "C" > $3::text) ORDER BY r."title" COLLATE "C" DESC NULLS LAST, r."id" COLLATE "C" LIMIT 11) AS part) AS r ORDER BY "key 1" DESC NULLS LAST, "key 2" LIMIT 11;
-- []interface {}{"acme", "a", "n7"}

-- keyset down to null, of one direction
SELECT r."id", r."doc" FROM (SELECT * FROM (SELECT r."id", r."doc", r."title" COLLATE "C" AS "key 1", r."id" COLLATE "C" AS "key 2" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND r."title" COLLATE "C" < $2::text ORDER BY r."title" COLLATE "C" DESC NULLS LAST, r."id" COLLATE "C" DESC LIMIT 11) AS part UNION ALL SELECT * FROM (SELECT r."id", r."doc", r."title" COLLATE "C" AS "key 1", r."id" COLLATE "C" AS "key 2" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND r."title" IS NULL ORDER BY r."title" COLLATE "C" DESC NULLS LAST, r."id" COLLATE "C" DESC LIMIT 11) AS part UNION ALL SELECT * FROM (SELECT r."id", r."doc", r."title" COLLATE "C" AS "key 1", r."id" COLLATE "C" AS "key 2" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND (r."title" COLLATE "C" = $2::text AND r."id" COLLATE "C" < $3::text) ORDER BY r."title" COLLATE "C" DESC NULLS LAST, r."id" COLLATE "C" DESC LIMIT 11) AS part) AS r ORDER BY "key 1" DESC NULLS LAST, "key 2" DESC LIMIT 11;
-- []interface {}{"acme", "a", "n7"}

-- keyset of a document
SELECT r."id", r."doc" FROM (SELECT * FROM (SELECT r."id", r."doc", (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) AS "key 1", (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'number' THEN (r."doc" -> 'c_a')::numeric END) AS "key 2", (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'string' THEN (r."doc" -> 'c_a') #>> '{}' END) COLLATE "C" AS "key 3", r."id" COLLATE "C" AS "key 4" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) > 3 ORDER BY (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END), (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'number' THEN (r."doc" -> 'c_a')::numeric END), (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'string' THEN (r."doc" -> 'c_a') #>> '{}' END) COLLATE "C", r."id" COLLATE "C" LIMIT 11) AS part UNION ALL SELECT * FROM (SELECT r."id", r."doc", (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) AS "key 1", (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'number' THEN (r."doc" -> 'c_a')::numeric END) AS "key 2", (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'string' THEN (r."doc" -> 'c_a') #>> '{}' END) COLLATE "C" AS "key 3", r."id" COLLATE "C" AS "key 4" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND ((CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) = 3 AND (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'number' THEN (r."doc" -> 'c_a')::numeric END) > $2::numeric) ORDER BY (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END), (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'number' THEN (r."doc" -> 'c_a')::numeric END), (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'string' THEN (r."doc" -> 'c_a') #>> '{}' END) COLLATE "C", r."id" COLLATE "C" LIMIT 11) AS part UNION ALL SELECT * FROM (SELECT r."id", r."doc", (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) AS "key 1", (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'number' THEN (r."doc" -> 'c_a')::numeric END) AS "key 2", (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'string' THEN (r."doc" -> 'c_a') #>> '{}' END) COLLATE "C" AS "key 3", r."id" COLLATE "C" AS "key 4" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND ((CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) = 3 AND (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'number' THEN (r."doc" -> 'c_a')::numeric END) = $2::numeric AND (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'string' THEN (r."doc" -> 'c_a') #>> '{}' END) COLLATE "C" IS NULL AND r."id" COLLATE "C" > $3::text) ORDER BY (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END), (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'number' THEN (r."doc" -> 'c_a')::numeric END), (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'string' THEN (r."doc" -> 'c_a') #>> '{}' END) COLLATE "C", r."id" COLLATE "C" LIMIT 11) AS part) AS r ORDER BY "key 1", "key 2", "key 3", "key 4" LIMIT 11;
-- []interface {}{"acme", "5", "n7"}

-- keyset of a document down
SELECT r."id", r."doc" FROM (SELECT * FROM (SELECT r."id", r."doc", (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) AS "key 1", (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'number' THEN (r."doc" -> 'c_a')::numeric END) AS "key 2", (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'string' THEN (r."doc" -> 'c_a') #>> '{}' END) COLLATE "C" AS "key 3", r."id" COLLATE "C" AS "key 4" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) < 4 ORDER BY (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) DESC, (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'number' THEN (r."doc" -> 'c_a')::numeric END) DESC, (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'string' THEN (r."doc" -> 'c_a') #>> '{}' END) COLLATE "C" DESC, r."id" COLLATE "C" LIMIT 11) AS part UNION ALL SELECT * FROM (SELECT r."id", r."doc", (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) AS "key 1", (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'number' THEN (r."doc" -> 'c_a')::numeric END) AS "key 2", (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'string' THEN (r."doc" -> 'c_a') #>> '{}' END) COLLATE "C" AS "key 3", r."id" COLLATE "C" AS "key 4" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND ((CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) = 4 AND (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'number' THEN (r."doc" -> 'c_a')::numeric END) IS NULL AND (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'string' THEN (r."doc" -> 'c_a') #>> '{}' END) COLLATE "C" < $2::text) ORDER BY (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) DESC, (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'number' THEN (r."doc" -> 'c_a')::numeric END) DESC, (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'string' THEN (r."doc" -> 'c_a') #>> '{}' END) COLLATE "C" DESC, r."id" COLLATE "C" LIMIT 11) AS part UNION ALL SELECT * FROM (SELECT r."id", r."doc", (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) AS "key 1", (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'number' THEN (r."doc" -> 'c_a')::numeric END) AS "key 2", (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'string' THEN (r."doc" -> 'c_a') #>> '{}' END) COLLATE "C" AS "key 3", r."id" COLLATE "C" AS "key 4" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND ((CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) = 4 AND (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'number' THEN (r."doc" -> 'c_a')::numeric END) IS NULL AND (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'string' THEN (r."doc" -> 'c_a') #>> '{}' END) COLLATE "C" = $2::text AND r."id" COLLATE "C" > $3::text) ORDER BY (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) DESC, (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'number' THEN (r."doc" -> 'c_a')::numeric END) DESC, (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'string' THEN (r."doc" -> 'c_a') #>> '{}' END) COLLATE "C" DESC, r."id" COLLATE "C" LIMIT 11) AS part) AS r ORDER BY "key 1" DESC, "key 2" DESC, "key 3" DESC, "key 4" LIMIT 11;
-- []interface {}{"acme", "x", "n7"}

-- keyset with null not last
SELECT r."id", r."doc" FROM (SELECT * FROM (SELECT r."id", r."doc", r."likes" AS "key 1", r."rank" AS "key 2", r."id" COLLATE "C" AS "key 3" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND r."likes" > $2::bigint ORDER BY r."likes", r."rank" DESC NULLS LAST, r."id" COLLATE "C" LIMIT 11) AS part UNION ALL SELECT * FROM (SELECT r."id", r."doc", r."likes" AS "key 1", r."rank" AS "key 2", r."id" COLLATE "C" AS "key 3" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND (r."likes" = $2::bigint AND r."rank" IS NULL AND r."id" COLLATE "C" > $3::text) ORDER BY r."likes", r."rank" DESC NULLS LAST, r."id" COLLATE "C" LIMIT 11) AS part) AS r ORDER BY "key 1", "key 2" DESC NULLS LAST, "key 3" LIMIT 11;
-- []interface {}{"acme", 5, "n7"}

-- keyset of a text among integers
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND FALSE ORDER BY r."rank" NULLS FIRST, r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme"}

-- keyset of a text among integers down
SELECT r."id", r."doc" FROM (SELECT * FROM (SELECT r."id", r."doc", r."rank" AS "key 1", r."id" COLLATE "C" AS "key 2" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND r."rank" IS NOT NULL ORDER BY r."rank" DESC NULLS LAST, r."id" COLLATE "C" LIMIT 11) AS part UNION ALL SELECT * FROM (SELECT r."id", r."doc", r."rank" AS "key 1", r."id" COLLATE "C" AS "key 2" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND r."rank" IS NULL ORDER BY r."rank" DESC NULLS LAST, r."id" COLLATE "C" LIMIT 11) AS part) AS r ORDER BY "key 1" DESC NULLS LAST, "key 2" LIMIT 11;
-- []interface {}{"acme"}

-- keyset between integers
SELECT r."id", r."doc" FROM (SELECT * FROM (SELECT r."id", r."doc", r."rank" AS "key 1", r."id" COLLATE "C" AS "key 2" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND r."rank" > $2::bigint ORDER BY r."rank" NULLS FIRST, r."id" COLLATE "C" LIMIT 11) AS part) AS r ORDER BY "key 1" NULLS FIRST, "key 2" LIMIT 11;
-- []interface {}{"acme", 5}

-- keyset after all texts
SELECT r."id", r."doc" FROM (SELECT * FROM (SELECT r."id", r."doc", r."title" COLLATE "C" AS "key 1", r."id" COLLATE "C" AS "key 2" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND r."title" IS NULL ORDER BY r."title" COLLATE "C" DESC NULLS LAST, r."id" COLLATE "C" LIMIT 11) AS part) AS r ORDER BY "key 1" DESC NULLS LAST, "key 2" LIMIT 11;
-- []interface {}{"acme"}

-- keyset after all booleans
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND FALSE ORDER BY r."is_open" NULLS FIRST, r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme"}

-- keyset after all booleans down
SELECT r."id", r."doc" FROM (SELECT * FROM (SELECT r."id", r."doc", r."is_open" AS "key 1", r."id" COLLATE "C" AS "key 2" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND r."is_open" IS NOT NULL ORDER BY r."is_open" DESC NULLS LAST, r."id" COLLATE "C" LIMIT 11) AS part UNION ALL SELECT * FROM (SELECT r."id", r."doc", r."is_open" AS "key 1", r."id" COLLATE "C" AS "key 2" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND r."is_open" IS NULL ORDER BY r."is_open" DESC NULLS LAST, r."id" COLLATE "C" LIMIT 11) AS part) AS r ORDER BY "key 1" DESC NULLS LAST, "key 2" LIMIT 11;
-- []interface {}{"acme"}

-- keyset before all integers
SELECT r."id", r."doc" FROM (SELECT * FROM (SELECT r."id", r."doc", r."rank" AS "key 1", r."id" COLLATE "C" AS "key 2" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND r."rank" IS NOT NULL ORDER BY r."rank" NULLS FIRST, r."id" COLLATE "C" LIMIT 11) AS part) AS r ORDER BY "key 1" NULLS FIRST, "key 2" LIMIT 11;
-- []interface {}{"acme"}

-- keyset before all integers down
SELECT r."id", r."doc" FROM (SELECT * FROM (SELECT r."id", r."doc", r."rank" AS "key 1", r."id" COLLATE "C" AS "key 2" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND r."rank" IS NULL ORDER BY r."rank" DESC NULLS LAST, r."id" COLLATE "C" LIMIT 11) AS part) AS r ORDER BY "key 1" DESC NULLS LAST, "key 2" LIMIT 11;
-- []interface {}{"acme"}

-- keyset of a document's null
SELECT r."id", r."doc" FROM (SELECT * FROM (SELECT r."id", r."doc", (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) AS "key 1", (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'number' THEN (r."doc" -> 'c_a')::numeric END) AS "key 2", (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'string' THEN (r."doc" -> 'c_a') #>> '{}' END) COLLATE "C" AS "key 3", r."id" COLLATE "C" AS "key 4" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) > 0 ORDER BY (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END), (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'number' THEN (r."doc" -> 'c_a')::numeric END), (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'string' THEN (r."doc" -> 'c_a') #>> '{}' END) COLLATE "C", r."id" COLLATE "C" LIMIT 11) AS part UNION ALL SELECT * FROM (SELECT r."id", r."doc", (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) AS "key 1", (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'number' THEN (r."doc" -> 'c_a')::numeric END) AS "key 2", (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'string' THEN (r."doc" -> 'c_a') #>> '{}' END) COLLATE "C" AS "key 3", r."id" COLLATE "C" AS "key 4" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND ((CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) = 0 AND (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'number' THEN (r."doc" -> 'c_a')::numeric END) IS NULL AND (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'string' THEN (r."doc" -> 'c_a') #>> '{}' END) COLLATE "C" IS NULL AND r."id" COLLATE "C" > $2::text) ORDER BY (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END), (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'number' THEN (r."doc" -> 'c_a')::numeric END), (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'string' THEN (r."doc" -> 'c_a') #>> '{}' END) COLLATE "C", r."id" COLLATE "C" LIMIT 11) AS part) AS r ORDER BY "key 1", "key 2", "key 3", "key 4" LIMIT 11;
-- []interface {}{"acme", "n7"}

-- keyset of a document's null down
SELECT r."id", r."doc" FROM (SELECT * FROM (SELECT r."id", r."doc", r."likes" AS "key 1", (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) AS "key 2", (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'number' THEN (r."doc" -> 'c_a')::numeric END) AS "key 3", (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'string' THEN (r."doc" -> 'c_a') #>> '{}' END) COLLATE "C" AS "key 4", r."id" COLLATE "C" AS "key 5" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND r."likes" > $2::bigint ORDER BY r."likes", (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) DESC, (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'number' THEN (r."doc" -> 'c_a')::numeric END) DESC, (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'string' THEN (r."doc" -> 'c_a') #>> '{}' END) COLLATE "C" DESC, r."id" COLLATE "C" LIMIT 11) AS part UNION ALL SELECT * FROM (SELECT r."id", r."doc", r."likes" AS "key 1", (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) AS "key 2", (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'number' THEN (r."doc" -> 'c_a')::numeric END) AS "key 3", (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'string' THEN (r."doc" -> 'c_a') #>> '{}' END) COLLATE "C" AS "key 4", r."id" COLLATE "C" AS "key 5" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND (r."likes" = $2::bigint AND (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) = 0 AND (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'number' THEN (r."doc" -> 'c_a')::numeric END) IS NULL AND (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'string' THEN (r."doc" -> 'c_a') #>> '{}' END) COLLATE "C" IS NULL AND r."id" COLLATE "C" > $3::text) ORDER BY r."likes", (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) DESC, (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'number' THEN (r."doc" -> 'c_a')::numeric END) DESC, (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'string' THEN (r."doc" -> 'c_a') #>> '{}' END) COLLATE "C" DESC, r."id" COLLATE "C" LIMIT 11) AS part) AS r ORDER BY "key 1", "key 2" DESC, "key 3" DESC, "key 4" DESC, "key 5" LIMIT 11;
-- []interface {}{"acme", 5, "n7"}

-- keyset of a document's boolean
SELECT r."id", r."doc" FROM (SELECT * FROM (SELECT r."id", r."doc", (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) AS "key 1", (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'number' THEN (r."doc" -> 'c_a')::numeric END) AS "key 2", (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'string' THEN (r."doc" -> 'c_a') #>> '{}' END) COLLATE "C" AS "key 3", r."id" COLLATE "C" AS "key 4" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) > 1 ORDER BY (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END), (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'number' THEN (r."doc" -> 'c_a')::numeric END), (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'string' THEN (r."doc" -> 'c_a') #>> '{}' END) COLLATE "C", r."id" COLLATE "C" LIMIT 11) AS part UNION ALL SELECT * FROM (SELECT r."id", r."doc", (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) AS "key 1", (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'number' THEN (r."doc" -> 'c_a')::numeric END) AS "key 2", (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'string' THEN (r."doc" -> 'c_a') #>> '{}' END) COLLATE "C" AS "key 3", r."id" COLLATE "C" AS "key 4" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND ((CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END) = 1 AND (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'number' THEN (r."doc" -> 'c_a')::numeric END) IS NULL AND (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'string' THEN (r."doc" -> 'c_a') #>> '{}' END) COLLATE "C" IS NULL AND r."id" COLLATE "C" > $2::text) ORDER BY (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'boolean' THEN CASE WHEN r."doc" -> 'c_a' = 'true' THEN 2 ELSE 1 END WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END), (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'number' THEN (r."doc" -> 'c_a')::numeric END), (CASE jsonb_typeof(r."doc" -> 'c_a') WHEN 'string' THEN (r."doc" -> 'c_a') #>> '{}' END) COLLATE "C", r."id" COLLATE "C" LIMIT 11) AS part) AS r ORDER BY "key 1", "key 2", "key 3", "key 4" LIMIT 11;
-- []interface {}{"acme", "n7"}

-- keyset of a date down
SELECT r."id", r."doc" FROM (SELECT * FROM (SELECT r."id", r."doc", r."created_at" AS "key 1", r."id" COLLATE "C" AS "key 2" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND r."created_at" < $2::timestamptz ORDER BY r."created_at" DESC, r."id" COLLATE "C" LIMIT 11) AS part UNION ALL SELECT * FROM (SELECT r."id", r."doc", r."created_at" AS "key 1", r."id" COLLATE "C" AS "key 2" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND (r."created_at" = $2::timestamptz AND r."id" COLLATE "C" > $3::text) ORDER BY r."created_at" DESC, r."id" COLLATE "C" LIMIT 11) AS part) AS r ORDER BY "key 1" DESC, "key 2" LIMIT 11;
-- []interface {}{"acme", time.Date(2026, time.January, 2, 3, 4, 5, 0, time.UTC), "n7"}

-- keyset of a boolean down
SELECT r."id", r."doc" FROM (SELECT * FROM (SELECT r."id", r."doc", r."is_pinned" AS "key 1", r."id" COLLATE "C" AS "key 2" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND r."is_pinned" < $2::boolean ORDER BY r."is_pinned" DESC, r."id" COLLATE "C" LIMIT 11) AS part UNION ALL SELECT * FROM (SELECT r."id", r."doc", r."is_pinned" AS "key 1", r."id" COLLATE "C" AS "key 2" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND (r."is_pinned" = $2::boolean AND r."id" COLLATE "C" > $3::text) ORDER BY r."is_pinned" DESC, r."id" COLLATE "C" LIMIT 11) AS part) AS r ORDER BY "key 1" DESC, "key 2" LIMIT 11;
-- []interface {}{"acme", true, "n7"}

-- not the keyset of this sort
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND (r."likes" > $2::bigint OR (r."likes" = $3::bigint AND r."id" COLLATE "C" > $4::text)) ORDER BY r."likes" DESC, r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme", 5, 5, "n7"}

-- not the same value
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND (r."likes" > $2::bigint OR (r."likes" = $3::bigint AND r."id" COLLATE "C" > $4::text)) ORDER BY r."likes", r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme", 5, 6, "n7"}

-- less, which is no keyset
SELECT r."id", r."doc" FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND (r."title" COLLATE "C" < $2::text OR (r."title" COLLATE "C" = $3::text AND r."id" COLLATE "C" > $4::text)) ORDER BY r."title" COLLATE "C" DESC NULLS LAST, r."id" COLLATE "C" LIMIT 11;
-- []interface {}{"acme", "a", "a", "n7"}


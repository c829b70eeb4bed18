-- {}
SELECT count(*) FROM (SELECT 1 FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text LIMIT 10001) AS counted;
-- []interface {}{"acme"}

-- {}
SELECT count(*) FROM (SELECT 1 FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND r."id" COLLATE "C" IN ($2::text, $3::text) LIMIT 10001) AS counted;
-- []interface {}{"acme", "n1", "n2"}

-- {"title":{"$prefix":"a"},"likes":5}
SELECT count(*) FROM (SELECT 1 FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND (r."title" COLLATE "C" >= $2::text AND r."title" COLLATE "C" < $3::text AND r."likes" = $4::bigint) LIMIT 10001) AS counted;
-- []interface {}{"acme", "a", "b", 5}

-- {"title":{"$prefix":"a"},"likes":5}
SELECT count(*) FROM (SELECT 1 FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND r."id" COLLATE "C" IN ($2::text, $3::text) AND (r."title" COLLATE "C" >= $4::text AND r."title" COLLATE "C" < $5::text AND r."likes" = $6::bigint) LIMIT 10001) AS counted;
-- []interface {}{"acme", "n1", "n2", "a", "b", 5}

-- {"_id":{"$gt":"n7"}}
SELECT count(*) FROM (SELECT 1 FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND r."id" COLLATE "C" > $2::text LIMIT 10001) AS counted;
-- []interface {}{"acme", "n7"}

-- {"_id":{"$gt":"n7"}}
SELECT count(*) FROM (SELECT 1 FROM "public"."notes" AS r WHERE r."org" COLLATE "C" = $1::text AND r."id" COLLATE "C" IN ($2::text, $3::text) AND r."id" COLLATE "C" > $4::text LIMIT 10001) AS counted;
-- []interface {}{"acme", "n1", "n2", "n7"}


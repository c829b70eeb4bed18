-- {}
SELECT count(*) FROM (SELECT 1 FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 LIMIT ?2) AS counted;
-- []interface {}{"acme", 10001}

-- {}
SELECT count(*) FROM (SELECT 1 FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND r."id" COLLATE BINARY IN (?2, ?3) LIMIT ?4) AS counted;
-- []interface {}{"acme", "n1", "n2", 10001}

-- {"title":{"$prefix":"a"},"likes":5}
SELECT count(*) FROM (SELECT 1 FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND (r."title" COLLATE BINARY >= ?2 AND r."title" COLLATE BINARY < ?3 AND r."likes" = ?4) LIMIT ?5) AS counted;
-- []interface {}{"acme", "a", "b", 5, 10001}

-- {"title":{"$prefix":"a"},"likes":5}
SELECT count(*) FROM (SELECT 1 FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND r."id" COLLATE BINARY IN (?2, ?3) AND (r."title" COLLATE BINARY >= ?4 AND r."title" COLLATE BINARY < ?5 AND r."likes" = ?6) LIMIT ?7) AS counted;
-- []interface {}{"acme", "n1", "n2", "a", "b", 5, 10001}

-- {"_id":{"$gt":"n7"}}
SELECT count(*) FROM (SELECT 1 FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND r."id" COLLATE BINARY > ?2 LIMIT ?3) AS counted;
-- []interface {}{"acme", "n7", 10001}

-- {"_id":{"$gt":"n7"}}
SELECT count(*) FROM (SELECT 1 FROM "public"."notes" AS r WHERE r."org" COLLATE BINARY = ?1 AND r."id" COLLATE BINARY IN (?2, ?3) AND r."id" COLLATE BINARY > ?4 LIMIT ?5) AS counted;
-- []interface {}{"acme", "n1", "n2", "n7", 10001}


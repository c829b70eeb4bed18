-- KEYS: 1 index of the account, 2 the org's accounts. ARGV: 1 account, 2 id of the
-- session that stays, or empty, 3 prefix of the keys of sessions. Returns how many
-- sessions were ended.
return endAccount(KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3])

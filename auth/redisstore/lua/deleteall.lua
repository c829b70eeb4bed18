-- KEYS: 1 the account's sessions, 2 the org's accounts. ARGV: 1 account, 2 the id
-- that stays or empty, 3 what the keys of sessions begin with. Replies how many
-- sessions were ended.
return endAccount(KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3])

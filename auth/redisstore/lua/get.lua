-- ARGV: 1 prefix of the keys of records, 2 org, 3 subject or anySubject, 4 id. KEYS: 1 record. Returns its
-- row, or none.
local r = row(ARGV[1], ARGV[2], ARGV[4])
return {r and (ARGV[3] == anySubject or r[10] == ARGV[3]) and r or nil}

-- KEYS: 1 the org's accounts. ARGV: 1 prefix of the keys of sessions, 2 prefix of the
-- org's account indexes. Returns how many sessions were ended.
local ended = 0
for _, name in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  ended = ended + endAccount(ARGV[2] .. name, KEYS[1], name, '', ARGV[1])
end
return ended

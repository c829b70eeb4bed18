-- KEYS: 1 index of the account. ARGV: 1 prefix of the keys of sessions. Returns hash
-- and session of each, the oldest first.
local list = {}
for _, member in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  local hash = string.sub(member, -32)
  local session = alive(ARGV[1] .. hash)
  if session then
    list[#list + 1] = {hash, session}
  end
end
return list

-- KEYS: 1 the old session, 2 the new session. ARGV: 1 seen and authenticated, 2 the new
-- hash, 3 the old hash, 4 prefix of the org's account indexes. Returns 0
-- done, 1 no session, 2 the new hash exists.
local session = alive(KEYS[1])
if not session then
  return 1
end
if redis.call('EXISTS', KEYS[2]) == 1 then
  return 2
end
local ends = tonumber(string.sub(session, 50, 65)) - 1 -- as in create.lua
redis.call('SET', KEYS[2], 'S' .. ARGV[1] .. string.sub(session, 34), 'PXAT', ends)
redis.call('SET', KEYS[1], 'M' .. ARGV[2], 'PXAT', ends)
local id, account = part(session, 1), ARGV[4] .. part(session, 3)
redis.call('ZADD', account, tonumber(string.sub(session, 34, 49)), id .. ARGV[2])
redis.call('ZREM', account, id .. ARGV[3])
return 0

-- KEYS: 1 session, 2 index of the account, 3 the org's accounts, by when their last
-- session ends. ARGV: 1 the session, 2 its member, 3 created, 4 expires, 5 limit, 6
-- ticket, 7 account, 8 prefix of the keys of sessions. Returns 0 added, 1 the hash
-- exists.
if redis.call('EXISTS', KEYS[1]) == 1 then
  return 1
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local expires, limit = tonumber(ARGV[4]), tonumber(ARGV[5])
local ttl = expires - now
if ttl <= 0 then
  return 0
end

local gone, same = {}, {}
-- Without a limit check the four oldest, so that dead members do not accumulate.
for _, member in ipairs(redis.call('ZRANGE', KEYS[2], 0, limit == 0 and 3 or -1)) do
  local key = ARGV[8] .. string.sub(member, -32)
  local session = alive(key)
  if not session then
    gone[#gone + 1] = member
  elseif limit > 0 and part(session, 4) == ARGV[6] then
    same[#same + 1] = {tonumber(string.sub(session, 2, 17)), #same, member, key}
  end
end
-- The members are in the order of creation, the oldest first.
table.sort(same, function(a, b) return a[1] < b[1] or a[1] == b[1] and a[2] < b[2] end)
local ended = {}
for i = 1, limit > 0 and #same - limit + 1 or 0 do
  gone[#gone + 1] = same[i][3]
  ended[i] = same[i][4]
end

local before = {redis.call('PTTL', KEYS[2]), redis.call('PTTL', KEYS[3])}
-- This is the first write. A server without memory refuses here, before a session was
-- ended. The key expires a millisecond early: a key exists in the millisecond of its
-- expiry, and the session must not.
redis.call('SET', KEYS[1], ARGV[1], 'PXAT', expires - 1)
redis.call('ZADD', KEYS[2], ARGV[3], ARGV[2])
hold(KEYS[2], before[1], ttl)
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now)
redis.call('ZADD', KEYS[3], math.max(expires, tonumber(redis.call('ZSCORE', KEYS[3], ARGV[7]) or 0)), ARGV[7])
hold(KEYS[3], before[2], ttl)
for _, key in ipairs(ended) do
  redis.call('SET', key, 'R', 'PX', math.max(redis.call('PTTL', key), 1))
end
forget(KEYS[2], KEYS[3], ARGV[7], gone)
return 0

-- KEYS: 1 record, 2 the subject's ids by order of issue. ARGV: 1 id, 2 subject,
-- 3 key id, 4 most uses, 5 issued, 6 expires, in seconds or empty, 7 limit, 8
-- what the keys of records begin with. Replies 0 added, 1 the id is there, 2
-- there are limit.
if redis.call('EXISTS', KEYS[1]) == 1 then
  return 1
end
local limit = tonumber(ARGV[7])
local same, others, drop = 0, 0, {}
for _, id in ipairs(redis.call('ZREVRANGE', KEYS[2], 0, -1)) do
  local r = redis.call('HMGET', ARGV[8] .. id, 'm', 'n', 'k')
  local lives = live(r[1], r[2])
  if r[3] ~= ARGV[3] then
    -- The latest records of other keys stay: an Issue that still holds a key
    -- replaced meanwhile must cost the new key's nothing.
    others = others + 1
    lives = lives and others <= limit
  elseif lives then
    same = same + 1
  end
  if not lives then
    drop[#drop + 1] = id
  end
end
if same >= limit then
  return 2
end

local time = redis.call('TIME')
local now, ttl = time[1] * 1000 + math.floor(time[2] / 1000), nil
if ARGV[6] ~= '' then
  -- A key is there in the millisecond in which it ends; the record is not.
  ttl = tonumber(ARGV[6]) * 1000 - now - 1
  if ttl <= 0 then
    return 0
  end
end
local last = redis.call('ZREVRANGE', KEYS[2], 0, 0, 'WITHSCORES')
local before = redis.call('PTTL', KEYS[2])
-- The first write of all: a server without memory refuses here, and nothing has
-- been dropped.
redis.call('HSET', KEYS[1], 's', ARGV[2], 'k', ARGV[3], 'm', ARGV[4], 'n', '0', 'i', ARGV[5], 'e', ARGV[6])
redis.call('ZADD', KEYS[2], (tonumber(last[2]) or 0) + 1, ARGV[1])
if not ttl then
  redis.call('PERSIST', KEYS[2])
else
  redis.call('PEXPIRE', KEYS[1], ttl)
  if before ~= -1 then
    redis.call('PEXPIRE', KEYS[2], math.max(before, ttl))
  end
end
for _, id in ipairs(drop) do
  redis.call('DEL', ARGV[8] .. id)
  redis.call('ZREM', KEYS[2], id)
end
return 0

-- KEYS: 1 record, 2 the subject's ids in the order of issue, 3 the index of the app, 4 the apps of
-- the org. ARGV: 1 id, 2 subject, 3 key id, 4 maximum uses, 5 issued, 6 expires, in seconds or empty,
-- 7 limit, 8 prefix of the keys of records, 9 maker, 10 its client key, 11 parent or empty, 12 org, 13
-- how many more records of other keys than the limit there may be, 14 the app, 15 prefix of the indexes
-- of apps, 16 name, and then the further keys that verify. Returns 0 added, 1 the id exists, 2 the limit or that
-- of other keys is reached, 3 the parent is not live or its key does not verify, 4 the parent has the
-- most ancestors.
if redis.call('EXISTS', KEYS[1]) == 1 then
  return 1
end
local verifies = {[ARGV[3]] = true}
for i = 17, #ARGV do
  verifies[ARGV[i]] = true
end
if ARGV[11] ~= '' then
  local r = redis.call('HMGET', ARGV[8] .. ARGV[11], 'm', 'n', 'p', 'k')
  local ancestors = live(ARGV[8], r[1], r[2], r[3])
  if not ancestors or not verifies[r[4]] then
    return 3
  end
  if ancestors == maxAncestors then
    return 4
  end
end
local same, others, drop = 0, 0, {}
for _, id in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do
  local r = redis.call('HMGET', ARGV[8] .. id, 'm', 'n', 'p', 'k', 'i')
  local lives = live(ARGV[8], r[1], r[2], r[3])
  if lives and verifies[r[4]] then
    same = same + 1
  elseif lives then
    -- The caller may not know yet of a key that has come meanwhile.
    lives = tonumber(r[5]) >= tonumber(ARGV[5]) - 3600
    others = others + (lives and 1 or 0)
  end
  if not lives then
    drop[#drop + 1] = {id, r[5]}
  end
end
if same >= tonumber(ARGV[7]) or others - tonumber(ARGV[7]) >= tonumber(ARGV[13]) then
  return 2
end

local time = redis.call('TIME')
local now, ends, ttl = time[1] * 1000 + math.floor(time[2] / 1000), nil, nil
if ARGV[6] ~= '' then
  -- The key expires a millisecond early: a key exists in the millisecond of its expiry,
  -- and the record must not.
  ends = tonumber(ARGV[6]) * 1000 - 1
  ttl = ends - now
end
if ARGV[11] ~= '' then
  -- The record is dead when its parent ends; nothing else would remove it then.
  local parent = redis.call('PTTL', ARGV[8] .. ARGV[11])
  if parent >= 0 and (not ttl or parent < ttl) then
    ends, ttl = now + parent, parent
  end
end
if ttl and ttl <= 0 then
  return 0
end
local last = redis.call('ZREVRANGE', KEYS[2], 0, 0, 'WITHSCORES')
local before = {redis.call('PTTL', KEYS[2]), redis.call('PTTL', KEYS[3]), redis.call('PTTL', KEYS[4])}
-- This is the first write. A server without memory refuses here, before a record was
-- deleted.
redis.call('HSET', KEYS[1], 's', ARGV[2], 'k', ARGV[3], 'm', ARGV[4], 'n', '0', 'i', ARGV[5], 'e', ARGV[6],
  'a', ARGV[9], 'c', ARGV[10], 'p', ARGV[11], 'o', ARGV[12], 'd', ARGV[16])
redis.call('ZADD', KEYS[2], (tonumber(last[2]) or 0) + 1, ARGV[1])
redis.call('ZADD', KEYS[3], 0, place(ARGV[5], ARGV[1]))
redis.call('ZADD', KEYS[4], 0, ARGV[14])
if ends then
  redis.call('PEXPIREAT', KEYS[1], ends) -- an absolute time: the clock may have advanced since now
end
for i, key in ipairs({KEYS[2], KEYS[3], KEYS[4]}) do
  if not ttl then
    redis.call('PERSIST', key)
  elseif before[i] ~= -1 then
    redis.call('PEXPIRE', key, math.max(before[i], ttl))
  end
end
for _, dead in ipairs(drop) do
  redis.call('DEL', ARGV[8] .. dead[1])
  redis.call('ZREM', KEYS[2], dead[1])
  if dead[2] then
    redis.call('ZREM', KEYS[3], place(dead[2], dead[1]))
  end
end
-- A record that expires leaves its member in the index of the app. Look at eight, from any
-- one on: then those without a record stay fewer than the others.
local from = time[2] % redis.call('ZCARD', KEYS[3])
for _, member in ipairs(redis.call('ZRANGE', KEYS[3], from, from + 7)) do
  if redis.call('EXISTS', ARGV[8] .. string.sub(member, 17)) == 0 then
    redis.call('ZREM', KEYS[3], member)
  end
end
-- An app whose records have expired leaves its name. Look at one.
from = time[2] % redis.call('ZCARD', KEYS[4])
local app = redis.call('ZRANGE', KEYS[4], from, from)[1]
if redis.call('EXISTS', ARGV[15] .. app) == 0 then
  redis.call('ZREM', KEYS[4], app)
end
return 0

-- KEYS: 1 record, 2 the index of the app. ARGV: 1 subject, 2 key id, 3 maximum uses, 4 generation, 5
-- prefix of the keys of records, 6 id, 7 the successor's key id, 8 issued and 9 expires, in seconds or
-- empty, 10 grace in milliseconds. Returns 0 renewed, and otherwise what spend.lua does.
local r = redis.call('HMGET', KEYS[1], 's', 'k', 'm', 'g', 't', 'n', 'p', 'i', 'e')
local found, refused = behind(KEYS[1], r, ARGV)
if not found then
  return refused
end
if not live(ARGV[5], r[3], r[6], r[7]) then
  return 1
end
if found == 0 then
  local time = redis.call('TIME')
  redis.call('HSET', KEYS[1], 'g', tonumber(ARGV[4]) + 1, 't', time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[10]))
end
redis.call('HSET', KEYS[1], 'k', ARGV[7], 'i', ARGV[8])
redis.call('ZREM', KEYS[2], place(r[8], ARGV[6]))
redis.call('ZADD', KEYS[2], 0, place(ARGV[8], ARGV[6]))
if ARGV[9] ~= '' and (not r[9] or r[9] == '' or tonumber(ARGV[9]) < tonumber(r[9])) then
  redis.call('HSET', KEYS[1], 'e', ARGV[9])
  local time, ttl = redis.call('TIME'), redis.call('PTTL', KEYS[1])
  local ends = tonumber(ARGV[9]) * 1000 - 1 -- see issue.lua
  if ttl < 0 or ends < time[1] * 1000 + math.floor(time[2] / 1000) + ttl then
    redis.call('PEXPIREAT', KEYS[1], ends)
  end
end
return 0

-- KEYS: 1 record. ARGV: 1 subject, 2 key id, 3 most uses. Replies 0 accepted, 1
-- no such record, 2 no use left.
local r = redis.call('HMGET', KEYS[1], 's', 'k', 'm', 'n')
if r[1] ~= ARGV[1] or r[2] ~= ARGV[2] or r[3] ~= ARGV[3] then
  return 1
end
if r[3] == '0' then
  return 0
end
local most = tonumber(r[3])
if tonumber(r[4]) >= most then
  return 2
end
if redis.call('HINCRBY', KEYS[1], 'n', 1) >= most then
  -- For a day it is said to be spent; then it is unknown.
  local ttl = redis.call('PTTL', KEYS[1])
  if ttl < 0 or ttl > 86400000 then
    redis.call('PEXPIRE', KEYS[1], 86400000)
  end
end
return 0

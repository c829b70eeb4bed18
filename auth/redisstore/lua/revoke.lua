-- KEYS: 1 record. ARGV: 1 id, 2 prefix of the keys of subjects, 3 prefix of the keys of
-- records. Returns 0 removed, 1 no live record.
local r = redis.call('HMGET', KEYS[1], 'm', 'n', 'p', 's')
if not live(ARGV[3], r[1], r[2], r[3]) then
  return 1
end
redis.call('DEL', KEYS[1])
redis.call('ZREM', ARGV[2] .. r[4], ARGV[1])
return 0

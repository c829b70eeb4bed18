-- KEYS: 1 the subject's ids. ARGV: 1 prefix of the keys of records. Returns how many
-- live records there were.
local count = 0
local ids = redis.call('ZRANGE', KEYS[1], 0, -1)
-- Count before deleting: one record may be the parent of another.
for _, id in ipairs(ids) do
  if live(ARGV[1], unpack(redis.call('HMGET', ARGV[1] .. id, 'm', 'n', 'p'))) then
    count = count + 1
  end
end
for _, id in ipairs(ids) do
  redis.call('DEL', ARGV[1] .. id)
end
redis.call('DEL', KEYS[1])
return count

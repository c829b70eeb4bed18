-- KEYS: 1 the subject's ids. ARGV: 1 what the keys of records begin with.
-- Replies how many live records there were.
local count = 0
for _, id in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  local r = redis.call('HMGET', ARGV[1] .. id, 'm', 'n')
  if live(r[1], r[2]) then
    count = count + 1
  end
  redis.call('DEL', ARGV[1] .. id)
end
redis.call('DEL', KEYS[1])
return count

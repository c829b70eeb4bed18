-- KEYS: 1 the org's apps. ARGV: 1 prefix of all keys, 2 org. Deletes the org's records of one app.
-- Returns 0 if the org has no app.
local app = redis.call('ZRANGE', KEYS[1], 0, 0)[1]
if not app then
  return 0
end
local pair, index = #app .. ':' .. app, ARGV[1] .. 'l:' .. app
for _, member in ipairs(redis.call('ZRANGE', index, 0, -1)) do
  local id = string.sub(member, 17)
  local record = ARGV[1] .. 't:' .. pair .. id
  local r = redis.call('HMGET', record, 'o', 's')
  if r[1] == ARGV[2] then
    redis.call('DEL', record)
    redis.call('ZREM', ARGV[1] .. 'u:' .. pair .. r[2], id)
    redis.call('ZREM', index, member)
  end
end
redis.call('ZREM', KEYS[1], app)
return 1

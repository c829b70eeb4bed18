-- KEYS: 1 tries. Removes the latest try and its delay. Returns 0.
local tries = redis.call('GET', KEYS[1])
local count, at = string.match(tries or '', '^(%d+) (-?%d+ %d+)')
count = (tonumber(count) or 0) - 1
if count <= 0 then
  redis.call('DEL', KEYS[1])
else
  redis.call('SET', KEYS[1], string.format('%d %s 0', count, at), 'PX', math.max(redis.call('PTTL', KEYS[1]), 1))
end
return 0

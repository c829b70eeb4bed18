-- KEYS: 1 record. ARGV: 1 the record that it must have, 2 the one that it gets, each empty for
-- none. Returns 0 done, 1 it has another one.
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then
  return 1
end
if ARGV[2] == '' then
  redis.call('DEL', KEYS[1])
else
  redis.call('SET', KEYS[1], ARGV[2], 'PX', 86400000)
end
return 0

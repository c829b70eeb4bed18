-- KEYS: 1 the subject's ids, 2 the index of the app. ARGV: 1 prefix of the keys of records, 2 org. Returns how many
-- live records of the org there were.
local count, drop = 0, {}
-- Count before deleting: one record may be the parent of another.
for _, id in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  local r = redis.call('HMGET', ARGV[1] .. id, 'm', 'n', 'p', 'o', 'i')
  if r[4] == ARGV[2] then
    drop[#drop + 1] = {id, r[5]}
    if live(ARGV[1], r[1], r[2], r[3]) then
      count = count + 1
    end
  end
end
for _, r in ipairs(drop) do
  redis.call('DEL', ARGV[1] .. r[1])
  redis.call('ZREM', KEYS[1], r[1])
  redis.call('ZREM', KEYS[2], place(r[2], r[1]))
end
return count

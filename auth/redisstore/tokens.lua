-- KEYS: 1 the subject's ids. ARGV: 1 what the keys of records begin with.
-- Replies id, key id, uses, most uses, issued and expires of the live ones.
local list = {}
for _, id in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  local r = redis.call('HMGET', ARGV[1] .. id, 'm', 'n', 'k', 'i', 'e')
  if live(r[1], r[2]) then
    list[#list + 1] = {id, r[3], r[2], r[1], r[4], r[5]}
  end
end
return list

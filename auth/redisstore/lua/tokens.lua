-- KEYS: 1 the subject's ids. ARGV: 1 prefix of the keys of records, 2 org. Returns id, key
-- id, uses, maximum uses, issued, expires, maker, its client key and the parent of each
-- live record of the org.
local list = {}
for _, id in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  local r = redis.call('HMGET', ARGV[1] .. id, 'm', 'n', 'p', 'o', 'k', 'i', 'e', 'a', 'c')
  if r[4] == ARGV[2] and live(ARGV[1], r[1], r[2], r[3], r[4]) then
    list[#list + 1] = {id, r[5], r[2], r[1], r[6], r[7], r[8] or '', r[9] or '', r[3] or ''}
  end
end
return list

-- KEYS: 1 the subject's ids. ARGV: 1 prefix of the keys of records, 2 org. Returns the rows
-- of the subject.
local list = {}
for _, id in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  list[#list + 1] = row(ARGV[1], ARGV[2], id)
end
return list

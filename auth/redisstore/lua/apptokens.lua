-- KEYS: 1 the index of the app. ARGV: 1 prefix of the keys of records, 2 org, 3 the time
-- and 4 the id of the position, 5 limit. Returns the rows of a page. The first element is
-- the last member that the page has looked at, or empty at the end.
local limit = tonumber(ARGV[5])
local members = redis.call('ZRANGEBYLEX', KEYS[1], '(' .. place(ARGV[3], ARGV[4]), '+', 'LIMIT', 0, limit + 1)
local list = {#members > limit and members[limit] or ''}
for i = 1, math.min(#members, limit) do
  list[#list + 1] = row(ARGV[1], ARGV[2], string.sub(members[i], 17))
end
return list

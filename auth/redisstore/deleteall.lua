-- KEYS: 1 the org's accounts. ARGV: 1 account or empty, 2 the id that stays, 3
-- what the keys of sessions begin with, 4 those of the org's accounts. Replies
-- how many sessions were ended.
local ended = 0

-- endSome ends a part of an account's, as many as a call takes arguments.
local function endSome(account, members, from, to)
  local keys, gone = {}, {}
  for i = from, math.min(to, #members) do
    if ARGV[2] == '' or string.sub(members[i], 1, -33) ~= ARGV[2] then
      gone[#gone + 1] = members[i]
      keys[#keys + 1] = ARGV[3] .. string.sub(members[i], -32)
    end
  end
  if #keys == 0 then
    return 0
  end
  for _, v in ipairs(redis.call('MGET', unpack(keys))) do
    if v and string.sub(v, 1, 1) == 'S' and part(v, 4) == '' then
      ended = ended + 1
    end
  end
  redis.call('DEL', unpack(keys))
  redis.call('ZREM', account, unpack(gone))
  return #gone
end

local accounts = {ARGV[1]}
if ARGV[1] == '' then
  accounts = redis.call('ZRANGE', KEYS[1], 0, -1)
end
for _, name in ipairs(accounts) do
  local account, gone = ARGV[4] .. name, 0
  local members = redis.call('ZRANGE', account, 0, -1)
  for from = 1, #members, 1000 do
    gone = gone + endSome(account, members, from, from + 999)
  end
  if gone == #members then
    redis.call('ZREM', KEYS[1], name)
  end
end
return ended

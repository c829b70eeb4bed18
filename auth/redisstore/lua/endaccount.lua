-- endSome deletes the members of an account's index from position from to position to,
-- except the id stays. The range is limited because a call takes a limited number of
-- arguments. It returns how many of them were sessions.
local function endSome(account, members, from, to, stays, prefix)
  local keys, gone, ended = {}, {}, 0
  for i = from, math.min(to, #members) do
    if stays == '' or string.sub(members[i], 1, -33) ~= stays then
      gone[#gone + 1] = members[i]
      keys[#keys + 1] = prefix .. string.sub(members[i], -32)
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
  return ended
end

-- endAccount deletes all sessions and tickets of an account, except the id stays
-- (empty: none). If nothing is left, it removes the account from its org. prefix begins
-- the keys of sessions. It returns how many sessions were ended.
local function endAccount(account, org, name, stays, prefix)
  local members, ended = redis.call('ZRANGE', account, 0, -1), 0
  for from = 1, #members, 1000 do
    ended = ended + endSome(account, members, from, from + 999, stays, prefix)
  end
  forget(account, org, name, {})
  return ended
end

-- behind compares a token with the record that it was found by: r has subject, key id, maximum uses,
-- generation and the end of the grace of that record, and t has those of the token, without the last.
-- It returns how many generations the token is behind, 0 or 1, or nil and 1 for another token's record,
-- or nil and 3 for a token that was renewed before: then it has deleted the record.
local function behind(record, r, t)
  local generation, wanted = tonumber(r[4] or 0), tonumber(t[4])
  if r[1] ~= t[1] or r[3] ~= t[3] or wanted > generation then
    return nil, 1
  end
  if wanted == generation then
    return r[2] == t[2] and 0 or nil, 1
  end
  local time = redis.call('TIME')
  if wanted == generation - 1 and time[1] * 1000 + math.floor(time[2] / 1000) < tonumber(r[5]) then
    return 1
  end
  redis.call('DEL', record)
  return nil, 3
end

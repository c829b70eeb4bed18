-- live takes a record's maximum uses, its uses and its parent's id. It returns how many
-- ancestors the record has, at most maxAncestors. It returns false if the record or one of
-- its ancestors is not live. Expired records have no key. prefix begins the keys of records.
local function live(prefix, most, uses, parent)
  for ancestors = 0, maxAncestors do
    if not most or most ~= '0' and tonumber(uses) >= tonumber(most) then
      return false
    end
    if not parent or parent == '' then
      return ancestors
    end
    most, uses, parent = unpack(redis.call('HMGET', prefix .. parent, 'm', 'n', 'p'))
  end
  return false
end

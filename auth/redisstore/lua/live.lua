-- live takes a record's maximum uses, its uses, its parent's id and its org. It returns how
-- many ancestors the record has, at most four. It returns false if the record or one of its
-- ancestors is not live. Expired records have no key. Records of earlier versions have no
-- org: nobody could revoke them by their owner. prefix begins the keys of records.
local function live(prefix, most, uses, parent, org)
  for ancestors = 0, 4 do
    if not org or not most or most ~= '0' and tonumber(uses) >= tonumber(most) then
      return false
    end
    if not parent or parent == '' then
      return ancestors
    end
    most, uses, parent, org = unpack(redis.call('HMGET', prefix .. parent, 'm', 'n', 'p', 'o'))
  end
  return false
end

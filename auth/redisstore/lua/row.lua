-- row returns id, key id, uses, maximum uses, issued, expires, maker, its client key, the
-- parent, the subject, the generation, the name, the last use in Unix milliseconds and where it came
-- from, of a live record of the org, or nil.
local function row(prefix, org, id)
  local r = redis.call('HMGET', prefix .. id, 'm', 'n', 'p', 'o', 'k', 'i', 'e', 'a', 'c', 's', 'g', 'd', 'w', 'f')
  if r[4] == org and live(prefix, r[1], r[2], r[3]) then
    return {id, r[5], r[2], r[1], r[6], r[7], r[8] or '', r[9] or '', r[3] or '', r[10], r[11] or '0',
      r[12] or '', r[13] or '0', r[14] or ''}
  end
end

-- KEYS: 1 record. ARGV: 1 subject, 2 key id, 3 maximum uses, 4 prefix of the keys of
-- records. For an accepted use, returns 0, the maker, its client key and the parent.
-- Otherwise returns 1 no live record, 2 no use left.
local r = redis.call('HMGET', KEYS[1], 's', 'k', 'm', 'n', 'p', 'a', 'c')
if r[1] ~= ARGV[1] or r[2] ~= ARGV[2] or r[3] ~= ARGV[3] then
  return 1
end
local most = tonumber(r[3])
if most > 0 and tonumber(r[4]) >= most then
  return 2
end
if not live(ARGV[4], r[3], r[4], r[5]) then
  return 1
end
if most > 0 and redis.call('HINCRBY', KEYS[1], 'n', 1) >= most then
  -- For a day the record is reported as spent; then it is unknown.
  local ttl = redis.call('PTTL', KEYS[1])
  if ttl < 0 or ttl > 86400000 then
    redis.call('PEXPIRE', KEYS[1], 86400000)
  end
end
return {0, r[6] or '', r[7] or '', r[5] or ''}

-- KEYS: 1 record. ARGV: 1 subject, 2 key id, 3 maximum uses, 4 generation, 5 prefix of the keys of
-- records, 6 the time of the use in Unix milliseconds or empty, 7 an hour before, 8 where it comes from.
-- For an accepted use, returns 0, the maker, its client key, the parent and the name.
-- Otherwise returns 1 no live record, 2 no use left, 3 renewed before.
local r = redis.call('HMGET', KEYS[1], 's', 'k', 'm', 'g', 't', 'n', 'p', 'a', 'c', 'd', 'w')
local found, refused = behind(KEYS[1], r, ARGV)
if not found then
  return refused
end
local most = tonumber(r[3])
if most > 0 and tonumber(r[6]) >= most then
  return 2
end
if not live(ARGV[5], r[3], r[6], r[7]) then
  return 1
end
if most > 0 and redis.call('HINCRBY', KEYS[1], 'n', 1) >= most then
  -- For a day the record is reported as spent; then it is unknown.
  local ttl = redis.call('PTTL', KEYS[1])
  if ttl < 0 or ttl > 86400000 then
    redis.call('PEXPIRE', KEYS[1], 86400000)
  end
end
if ARGV[6] ~= '' and tonumber(r[11] or 0) <= tonumber(ARGV[7]) then
  redis.pcall('HSET', KEYS[1], 'w', ARGV[6], 'f', ARGV[8]) -- a full server may refuse this
end
return {0, r[8] or '', r[9] or '', r[7] or '', r[10] or ''}

-- KEYS: 1 session, 2 the org's accounts. ARGV: 1 its hash, 2 prefix of the keys of the org's
-- sessions, 3 of its account indexes. Returns 0.
local key, hash = KEYS[1], ARGV[1]
local v = redis.call('GET', key)
if v and string.sub(v, 1, 1) == 'M' then
  hash = string.sub(v, 2)
  key = ARGV[2] .. hash
end
local session = alive(key)
if session then
  local account = part(session, 3)
  redis.call('DEL', key, KEYS[1])
  forget(ARGV[3] .. account, KEYS[2], account, {part(session, 1) .. hash})
end
return 0

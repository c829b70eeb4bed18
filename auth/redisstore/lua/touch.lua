-- KEYS: 1 session. ARGV: 1 seen, in 16 characters. Returns 0 done, 1 no session.
local session = alive(KEYS[1])
if not session then
  return 1
end
if tonumber(string.sub(session, 2, 17)) < tonumber(ARGV[1]) then
  redis.call('SETRANGE', KEYS[1], 1, ARGV[1]) -- which keeps the key's expiry
end
return 0

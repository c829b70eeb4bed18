-- KEYS: 1 index of the account, 2 the org's accounts. ARGV: 1 id, 2 account, 3 prefix
-- of the keys of sessions. Returns 0 ended, 1 no session.
for _, member in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  if string.sub(member, 1, -33) == ARGV[1] then
    local key = ARGV[3] .. string.sub(member, -32)
    local session = alive(key)
    redis.call('DEL', key)
    forget(KEYS[1], KEYS[2], ARGV[2], {member})
    return session and 0 or 1
  end
end
return 1

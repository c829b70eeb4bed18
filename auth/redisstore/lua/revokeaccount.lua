-- KEYS: 1 index of the account, 2 the org's accounts, 3 the org's apps. ARGV: 1 prefix of all keys, 2
-- org, 3 account. Returns 0.
endAccount(KEYS[1], KEYS[2], ARGV[3], '', ARGV[1] .. 'h:' .. #ARGV[2] .. ':' .. ARGV[2])
for _, app in ipairs(redis.call('ZRANGE', KEYS[3], 0, -1)) do
  endSubject(ARGV[1], KEYS[3], ARGV[2], app, ARGV[3])
end
return 0

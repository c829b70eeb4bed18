-- KEYS: 1 the apps of the org. ARGV: 1 prefix of all keys, 2 org, 3 subject, 4 app, or nothing for all
-- apps of the org. Returns how many live records of the org there were.
local count = 0
for _, app in ipairs(ARGV[4] and {ARGV[4]} or redis.call('ZRANGE', KEYS[1], 0, -1)) do
  count = count + endSubject(ARGV[1], KEYS[1], ARGV[2], app, ARGV[3])
end
return count

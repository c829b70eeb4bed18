-- KEYS: 1 record, 2 the index of the app, 3 the apps of the org. ARGV: 1 id, 2 prefix of the keys of
-- subjects, 3 prefix of the keys of records, 4 org, 5 subject or anySubject, 6 app. Returns 0
-- removed, 1 no live record.
local r = redis.call('HMGET', KEYS[1], 'm', 'n', 'p', 'o', 's', 'i')
if r[4] ~= ARGV[4] or ARGV[5] ~= anySubject and r[5] ~= ARGV[5] or not live(ARGV[3], r[1], r[2], r[3]) then
  return 1
end
redis.call('DEL', KEYS[1])
redis.call('ZREM', ARGV[2] .. r[5], ARGV[1])
redis.call('ZREM', KEYS[2], place(r[6], ARGV[1]))
forgetApp(KEYS[2], KEYS[3], ARGV[6])
return 0

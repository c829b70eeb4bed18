-- KEYS: 1 epoch, 2 count of the client key, 4 signature. ARGV: 1 the caller's
-- time, and at last "look" from who has just sent this script. All times are
-- Unix milliseconds.
local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local got = call('MGET', KEYS[1], KEYS[2] or KEYS[1], KEYS[4] or KEYS[1])

-- When memory begins, the latest time seen, and the server it was seen on.
local begin, latest, server = string.match(got[1] or '', '^(%d+) (%d+) (%x+)$')
begin, latest = tonumber(begin), tonumber(latest)
if not begin or now > latest + 1000 or now < latest - 10000 or ARGV[#ARGV] == 'look' then
  local id = string.match(call('INFO', 'replication'), 'master_replid:(%x+)')
  if not begin or server ~= id or now < latest - 10000 then
    -- A server without memory may refuse to write, but not to delete, which
    -- begins an epoch as well.
    call('DEL', KEYS[1])
    -- The later of two clocks: a server's that is behind would let in again
    -- what it has forgotten. By no more than five minutes: one caller whose
    -- clock is far ahead must not shut everybody out for as long.
    begin = math.max(now, math.min(tonumber(ARGV[1]), now + 300000))
  end
  call('SET', KEYS[1], string.format('%.0f %.0f %s', begin, now, id))
end

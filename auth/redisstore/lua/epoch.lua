-- KEYS: 1 epoch, 2 count of the client key, 4 signature. ARGV: 1 the caller's time. The
-- last argument is "look" if the caller has just sent this script. All times are Unix
-- milliseconds.
local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local got = call('MGET', KEYS[1], KEYS[2] or KEYS[1], KEYS[4] or KEYS[1])

-- When the epoch began, the latest time seen, and the replication id of its server.
local begin, latest, server = string.match(got[1] or '', '^(%d+) (%d+) (%x+)$')
begin, latest = tonumber(begin), tonumber(latest)
if not begin or now > latest + 1000 or now < latest - 10000 or ARGV[#ARGV] == 'look' then
  local id = string.match(call('INFO', 'replication'), 'master_replid:(%x+)')
  if not begin or server ~= id or now < latest - 10000 then
    -- A server without memory may refuse to write, but it does delete. A missing key begins
    -- an epoch as well.
    call('DEL', KEYS[1])
    -- Use the later of the two clocks: a server clock that is behind would accept again
    -- what was lost. Add at most five minutes: one caller whose clock is far ahead must not
    -- make all requests stale for long.
    begin = math.max(now, math.min(tonumber(ARGV[1]), now + 300000))
  end
  call('SET', KEYS[1], string.format('%.0f %.0f %s', begin, now, id))
end

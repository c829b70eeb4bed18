-- KEYS: 1 epoch, 2 count of the client key, 4 signature. ARGV: 1 the caller's time. All times
-- are Unix milliseconds.
local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local got = call('MGET', KEYS[1], KEYS[2], KEYS[4] or KEYS[1], KEYS[#KEYS])
fits(got[4])

-- When the epoch began, the latest time seen, and the replication id of its server.
local begin, latest, server = string.match(got[1] or '', '^(%d+) (%d+) (%x+)$')
begin, latest = tonumber(begin), tonumber(latest)
-- Each claim compares: after a switch to a replica and back, the server has known the script for
-- long, and a second may not have passed.
local id = string.match(call('INFO', 'replication'), 'master_replid:(%x+)')
local another = not begin or server ~= id or now < latest - 10000
if another then
  -- A server without memory may refuse to write, but it does delete. A missing key begins
  -- an epoch as well.
  call('DEL', KEYS[1])
  -- Use the later of the two clocks: a server clock that is behind would accept again
  -- what was lost. Add at most five minutes: one caller whose clock is far ahead must not
  -- make all requests stale for long.
  begin = math.max(now, math.min(tonumber(ARGV[1]), now + 300000))
end
-- Keys live a minute longer than needed, so the latest time may be some seconds old. In a cluster
-- each shard has one, and few claims each second.
if another or now > latest + 5000 then
  call('SET', KEYS[1], string.format('%.0f %.0f %s', begin, now, id))
end

-- KEYS: 3 nonce, 4 signature. ARGV: 2 signed, 3 keep, 4 expiry of the keys, 5 siblings,
-- 6 window, 7 maximum per client key, 8 how long that count lives. All times are in
-- milliseconds. Returns 0 accepted, 1 replayed, 2 stale, 3 full.
if tonumber(ARGV[2]) <= begin or tonumber(ARGV[3]) <= now then
  return 2
end

-- Check the signature before the first write: a captured signature must not leave a key
-- for each nonce that it is sent with.
--
-- The value of a signature with siblings is "first-sight count". Any other value is
-- empty and stays empty.
local siblings, seen, sight = tonumber(ARGV[5]), got[3], ''
if seen then
  local first, count = string.match(seen, '^(%d+) (%d+)$')
  if not first or tonumber(count) >= siblings or math.abs(now - tonumber(first)) >= tonumber(ARGV[6]) then
    return 1
  end
  sight = string.format('%s %d', first, count + 1)
elseif siblings > 1 then
  sight = string.format('%.0f 1', now)
end
if got[2] and tonumber(got[2]) >= tonumber(ARGV[7]) then
  return call('EXISTS', KEYS[3]) == 1 and 1 or 3
end
if not call('SET', KEYS[3], '', 'NX', 'PXAT', ARGV[4]) then
  return 1
end

local ends = ARGV[4]
if seen then
  ends = math.max(tonumber(ends), now + call('PTTL', KEYS[4]))
end
call('SET', KEYS[4], sight, 'PXAT', ends)
if got[2] then
  call('INCR', KEYS[2])
else
  call('SET', KEYS[2], 1, 'PX', ARGV[8])
end
return 0

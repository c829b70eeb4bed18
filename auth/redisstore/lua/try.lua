-- KEYS: 1 tries. ARGV: 1 and 2 the time in seconds and nanoseconds, 3 number of free
-- tries. Returns the count, 1 if this try is inside the delay, and the delay's end.
-- Seconds and nanoseconds stay separate, because a number in Lua is exact only up to
-- 2^53.
local at, nano, free = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local count, last, lastnano, delay =
  string.match(redis.call('GET', KEYS[1]) or '', '^(%d+) (-?%d+) (%d+) (%d+)$')
count, last, lastnano, delay = tonumber(count), tonumber(last), tonumber(lastnano), tonumber(delay)
local function before(seconds)
  return at < seconds or at == seconds and nano < lastnano
end
if count and delay > 0 and before(last + delay) then
  return {count, 1, last + delay, lastnano}
end
if not count or not before(last + 86400) then
  count = 0
end
count, delay = count + 1, 0
if count >= free then
  delay = math.min(2 ^ math.min(count - free, 10), 900)
elseif last and before(last) then
  at, nano = last, lastnano -- the clock of this process is behind another's
end
redis.call('SET', KEYS[1], string.format('%d %.0f %d %d', count, at, nano, delay), 'PX', 86400000)
return {count, 0, 0, 0}

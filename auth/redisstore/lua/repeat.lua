-- An entry of a repeated request is a hash: f fence, empty if it is complete; l end of its lease in Unix
-- milliseconds, s what is sealed. It expires by itself. Of each caller, d: has the ids by their expiry, and
-- c: their costs, with the sum under the empty id. b: has the callers of an org by their latest expiry.

-- forget removes an id from what its caller has.
local function forget(prefix, org, caller, id)
  local pair = #org .. ':' .. org .. caller
  local cost = redis.call('HGET', prefix .. 'c:' .. pair, id)
  redis.call('DEL', prefix .. 'r:' .. id)
  redis.call('ZREM', prefix .. 'd:' .. pair, id)
  redis.call('HDEL', prefix .. 'c:' .. pair, id)
  if cost and redis.call('HINCRBY', prefix .. 'c:' .. pair, '', -cost) <= 0 then
    redis.call('DEL', prefix .. 'c:' .. pair)
    redis.call('ZREM', prefix .. 'b:' .. org, caller)
  end
end

-- ARGV: 1 prefix of all keys, 2 id, 3 org, 4 caller, 5 fence, 6 lease, 7 how long to keep, 8 cost, 9 sealed,
-- 10 most that the caller's entries may cost. Returns the fence and what is sealed of the entry that is
-- there now, or nothing if the caller has too many.
local function beginRepeat()
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local pair, entry = #ARGV[3] .. ':' .. ARGV[3] .. ARGV[4], ARGV[1] .. 'r:' .. ARGV[2]
  local ids, costs, callers = ARGV[1] .. 'd:' .. pair, ARGV[1] .. 'c:' .. pair, ARGV[1] .. 'b:' .. ARGV[3]
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', ids, '-inf', now, 'LIMIT', 0, 100)) do
    forget(ARGV[1], ARGV[3], ARGV[4], id)
  end
  local r = redis.call('HMGET', entry, 'f', 's', 'l')
  if r[1] then
    if r[1] ~= '' and tonumber(r[3]) <= now then
      redis.call('HSET', entry, 'f', ARGV[5], 'l', now + ARGV[6])
      r[1] = ARGV[5]
    end
    return {r[1], r[2]}
  end
  forget(ARGV[1], ARGV[3], ARGV[4], ARGV[2]) -- it may have expired by itself, and its cost would count twice
  if tonumber(redis.call('HGET', costs, '') or '0') >= tonumber(ARGV[10]) then
    return {}
  end
  local ends = now + ARGV[7]
  redis.call('HSET', entry, 'f', ARGV[5], 's', ARGV[9], 'l', now + ARGV[6])
  redis.call('PEXPIREAT', entry, ends)
  redis.call('ZADD', ids, ends, ARGV[2])
  redis.call('HSET', costs, ARGV[2], ARGV[8])
  redis.call('HINCRBY', costs, '', ARGV[8])
  redis.call('ZREMRANGEBYSCORE', callers, '-inf', now)
  redis.call('ZADD', callers, 'GT', ends, ARGV[4])
  for _, key in ipairs({ids, costs, callers}) do
    redis.call('PEXPIRE', key, math.max(redis.call('PTTL', key), tonumber(ARGV[7])))
  end
  return {ARGV[5], ARGV[9]}
end

-- ARGV: 1 prefix of all keys, 2 id, 3 org, 4 caller, 5 fence, 6 cost, 7 sealed, or empty to delete the
-- entry. Returns 0, or 1 for no entry with this fence.
local function endRepeat()
  local pair, entry = #ARGV[3] .. ':' .. ARGV[3] .. ARGV[4], ARGV[1] .. 'r:' .. ARGV[2]
  if ARGV[5] == '' or redis.call('HGET', entry, 'f') ~= ARGV[5] then
    return 1
  end
  if ARGV[7] == '' then
    forget(ARGV[1], ARGV[3], ARGV[4], ARGV[2])
    return 0
  end
  redis.call('HSET', entry, 'f', '', 's', ARGV[7])
  local before = redis.call('HGET', ARGV[1] .. 'c:' .. pair, ARGV[2]) or '0'
  redis.call('HSET', ARGV[1] .. 'c:' .. pair, ARGV[2], ARGV[6])
  redis.call('HINCRBY', ARGV[1] .. 'c:' .. pair, '', ARGV[6] - before)
  return 0
end

-- ARGV: 1 prefix of all keys, 2 org. Deletes up to a thousand entries of one caller. Returns 0 if the org
-- has no caller.
local function endRepeats()
  local caller = redis.call('ZRANGE', ARGV[1] .. 'b:' .. ARGV[2], 0, 0)[1]
  if not caller then
    return 0
  end
  local ids = redis.call('ZRANGE', ARGV[1] .. 'd:' .. #ARGV[2] .. ':' .. ARGV[2] .. caller, 0, 999)
  for _, id in ipairs(ids) do
    forget(ARGV[1], ARGV[2], caller, id)
  end
  if #ids == 0 then
    redis.call('ZREM', ARGV[1] .. 'b:' .. ARGV[2], caller)
  end
  return 1
end

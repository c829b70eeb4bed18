-- A session is "S", four times of 16 characters (seen, authenticated, created,
-- expires), and id, org, account, ticket, address and agent, each as its length,
-- a colon and itself. "R" is one that was replaced by a newer one; "M" and a
-- hash is one that has that hash now. An account's sessions are ordered by the
-- time of their creation; a member is the id and, in its last 32 bytes, the hash.

-- part returns the n-th of id, org, account, ticket.
local function part(session, n)
  local from = 66
  for _ = 2, n do
    local _, colon, length = string.find(session, '^(%d+):', from)
    from = colon + length + 1
  end
  local _, colon, length = string.find(session, '^(%d+):', from)
  return string.sub(session, colon + 1, colon + length)
end

-- alive returns what a key holds, if it is a session.
local function alive(key)
  local v = redis.call('GET', key)
  return v and string.sub(v, 1, 1) == 'S' and v
end

-- hold has a key live for ttl at least.
local function hold(key, before, ttl)
  redis.call('PEXPIRE', key, math.max(before, ttl))
end

-- forget takes members off an account's index, and the account off its org's.
local function forget(account, org, name, members)
  for _, member in ipairs(members) do
    redis.call('ZREM', account, member)
  end
  if redis.call('EXISTS', account) == 0 then
    redis.call('ZREM', org, name)
  end
end

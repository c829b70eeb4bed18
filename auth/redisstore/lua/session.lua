-- A session is "S", four times of 16 characters (seen, authenticated, created,
-- expires), and the parts id, org, account, ticket, address, agent, proof and origin. Each part is its
-- length, a colon and its text. If its owner asked to be remembered, an "R" is at the end.
-- "R" alone stands for a session that a newer one has evicted.
-- "M" and a hash stands for a session that now has this hash. An account's index is
-- sorted by the time of creation. A member is the id followed by the hash, which is its
-- last 32 bytes.

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

-- alive returns the value of a key if it is a session.
local function alive(key)
  local v = redis.call('GET', key)
  return v and string.sub(v, 1, 1) == 'S' and v
end

-- hold lets a key live for at least ttl.
local function hold(key, before, ttl)
  redis.call('PEXPIRE', key, math.max(before, ttl))
end

-- forget removes members from an account's index. It removes the account from its org
-- if the index is then empty.
local function forget(account, org, name, members)
  for _, member in ipairs(members) do
    redis.call('ZREM', account, member)
  end
  if redis.call('EXISTS', account) == 0 then
    redis.call('ZREM', org, name)
  end
end

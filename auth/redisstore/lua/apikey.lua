-- An API key is a hash: o org, a account, c client key of the app, k maker, r JSON of what no use
-- changes, e its end in Unix milliseconds or empty, m maximum uses or 0, n uses, t last use seen,
-- f where it came from. Its id is in the indexes of its org, its account and its app.

-- indexesOf returns the keys of the indexes that have a key. prefix begins all keys.
local function indexesOf(prefix, org, account, app)
  local pair = #org .. ':' .. org
  return {prefix .. 'g:' .. pair, prefix .. 'j:' .. pair .. account, prefix .. 'm:' .. pair .. app}
end

-- dropKey deletes a key that one of its indexes has. A full server may have dropped the record.
local function dropKey(prefix, from, id)
  local r = redis.call('HMGET', prefix .. 'i:' .. id, 'o', 'a', 'c')
  redis.call('DEL', prefix .. 'i:' .. id)
  redis.call('ZREM', from, id)
  for _, index in ipairs(r[1] and indexesOf(prefix, r[1], r[2], r[3]) or {}) do
    redis.call('ZREM', index, id)
  end
end

-- keyRow returns what keyOf in Go reads, or nil if there is no such key.
local function keyRow(prefix, id)
  local r = redis.call('HMGET', prefix .. 'i:' .. id, 'o', 'a', 'c', 'k', 'r', 'm', 'n', 't', 'f')
  return r[1] and {id, unpack(r)} or nil
end

-- ARGV: 1 prefix of all keys, 2 id, 3 present and 4 new text of a key to change, 5 its new end; 6 limit,
-- 7 now; 8 id, 9 org, 10 account, 11 client key, 12 maker, 13 text, 14 end and 15 maximum uses of a key
-- to add. An empty id is none. Returns 0, 1 conflict, 2 too many.
local function putKey()
  local old, new = ARGV[1] .. 'i:' .. ARGV[2], ARGV[1] .. 'i:' .. ARGV[8]
  if ARGV[2] ~= '' and redis.call('HGET', old, 'r') ~= ARGV[3] or ARGV[8] ~= '' and redis.call('EXISTS', new) == 1 then
    return 1
  end
  if ARGV[8] ~= '' then
    local indexes, count, dead = indexesOf(ARGV[1], ARGV[9], ARGV[10], ARGV[11]), 0, {}
    for _, id in ipairs(redis.call('ZRANGE', indexes[2], 0, -1)) do
      local r = redis.call('HMGET', ARGV[1] .. 'i:' .. id, 'e', 'm', 'n')
      local ends = id == ARGV[2] and ARGV[5] or r[1]
      if not r[1] or ends ~= '' and tonumber(ends) <= tonumber(ARGV[7]) or r[2] ~= '0' and tonumber(r[3]) >= tonumber(r[2]) then
        dead[#dead + 1] = id
      else
        count = count + 1
      end
    end
    if count >= tonumber(ARGV[6]) then
      return 2
    end
    -- The first write: a server without memory refuses here, before a record was deleted.
    redis.call('HSET', new, 'o', ARGV[9], 'a', ARGV[10], 'c', ARGV[11], 'k', ARGV[12], 'r', ARGV[13], 'e', ARGV[14],
      'm', ARGV[15], 'n', '0', 't', '0', 'f', '')
    for _, index in ipairs(indexes) do
      redis.call('ZADD', index, 0, ARGV[8])
    end
    for _, id in ipairs(dead) do
      dropKey(ARGV[1], indexes[2], id)
    end
  end
  if redis.call('EXISTS', old) == 1 then
    redis.call('HSET', old, 'r', ARGV[4], 'e', ARGV[5])
  end
  return 0
end

-- KEYS: 1 an API key. ARGV: 1 now, 2 an hour before, 3 where the request comes from. Returns 0, or 1 for
-- no such key, or none with a use left.
local function useKey()
  local r = redis.call('HMGET', KEYS[1], 'm', 'n', 't')
  if not r[1] or r[1] ~= '0' and tonumber(r[2]) >= tonumber(r[1]) then
    return 1
  end
  if r[1] ~= '0' then
    redis.call('HINCRBY', KEYS[1], 'n', 1)
  end
  if tonumber(r[3]) <= tonumber(ARGV[2]) then
    redis.call('HSET', KEYS[1], 't', ARGV[1], 'f', ARGV[3])
  end
  return 0
end

-- KEYS: 1 an index. ARGV: 1 prefix of all keys, 2 id before the page, 3 limit. Returns the last id that
-- the page has looked at, or an empty text at the end, and the rows.
local function listKeys()
  local limit = tonumber(ARGV[3])
  local ids = redis.call('ZRANGEBYLEX', KEYS[1], '(' .. ARGV[2], '+', 'LIMIT', 0, limit + 1)
  local list = {#ids > limit and ids[limit] or ''}
  for i = 1, math.min(#ids, limit) do
    list[#list + 1] = keyRow(ARGV[1], ids[i])
  end
  return list
end

-- KEYS: 1 an index. ARGV: 1 prefix of all keys. Deletes up to a thousand API keys. Returns how many.
local function endKeys()
  local ids = redis.call('ZRANGE', KEYS[1], 0, 999)
  for _, id in ipairs(ids) do
    dropKey(ARGV[1], KEYS[1], id)
  end
  return #ids
end

-- KEYS: 1 an API key. ARGV: 1 prefix of all keys, 2 id, 3 org. Returns 0, or 1 for no such key of the org.
local function revokeKey()
  if redis.call('HGET', KEYS[1], 'o') ~= ARGV[3] then
    return 1
  end
  dropKey(ARGV[1], indexesOf(ARGV[1], ARGV[3], '', '')[1], ARGV[2])
  return 0
end

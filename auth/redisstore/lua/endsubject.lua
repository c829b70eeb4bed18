-- forgetApp removes an app without records from the apps of its org.
local function forgetApp(index, apps, app)
  if redis.call('EXISTS', index) == 0 then
    redis.call('ZREM', apps, app)
  end
end

-- endSubject deletes the records of an app's subject that are of the org. prefix begins all keys,
-- apps is the key of the org's apps. It returns how many of them were live.
local function endSubject(prefix, apps, org, app, subject)
  local pair = #app .. ':' .. app
  local ids, index, records = prefix .. 'u:' .. pair .. subject, prefix .. 'l:' .. app, prefix .. 't:' .. pair
  local count, drop = 0, {}
  -- Count before deleting: one record may be the parent of another.
  for _, id in ipairs(redis.call('ZRANGE', ids, 0, -1)) do
    local r = redis.call('HMGET', records .. id, 'm', 'n', 'p', 'o', 'i')
    if r[4] == org then
      drop[#drop + 1] = {id, r[5]}
      if live(records, r[1], r[2], r[3]) then
        count = count + 1
      end
    end
  end
  for _, r in ipairs(drop) do
    redis.call('DEL', records .. r[1])
    redis.call('ZREM', ids, r[1])
    redis.call('ZREM', index, place(r[2], r[1]))
  end
  forgetApp(index, apps, app)
  return count
end

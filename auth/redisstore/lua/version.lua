-- The last of KEYS holds the version of the data under the prefix. fits fails if it is another
-- one: what that version has written would be misread, a revoked token accepted for example. A
-- server that has lost its data has no version, and gets this one.
local function fits(found)
  if not found then
    redis.call('SET', KEYS[#KEYS], version)
  elseif found ~= version then
    error('tenantkit: the data is of version ' .. found .. ' of redisstore, and this instance is of version ' .. version)
  end
end

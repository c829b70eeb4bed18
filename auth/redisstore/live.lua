-- live tells of a record's most uses and its uses; expired ones are gone.
local function live(most, uses)
  return most and (most == '0' or tonumber(uses) < tonumber(most))
end

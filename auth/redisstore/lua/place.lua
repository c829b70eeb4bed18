-- place returns the member of a record in the index of its app. Members are in the order of
-- List: 16 digits of the time, and then the id.
local function place(issued, id)
  return string.format('%016.0f', tonumber(issued) + 1e15) .. id
end

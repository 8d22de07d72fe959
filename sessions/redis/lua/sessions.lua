-- Root sessions by what they cost or by when they changed, read in their order
-- until there are enough.
local page, rows = math.min(R.limit, 1000), {}

-- came says whether a session had a turn by the instance.
local kinds
local function came(sid)
  if R.channel == '' then return true end
  if not kinds then
    kinds = {}
    for _, name in ipairs(call('SMEMBERS', P .. 'active')) do
      local where = cjson.decode(name)
      if where[1] == R.channel then kinds[#kinds + 1] = P .. 'active:' .. id(where[1], where[2]) end
    end
  end
  for _, key in ipairs(kinds) do
    if call('ZSCORE', key, sid) then return true end
  end
  return false
end

local function changed(sid) return tonumber(call('ZSCORE', P .. 'roots', sid)) end

local key = R.by_cost and 'dear' or 'roots'
for from = 0, math.huge, page do
  local found = call('ZRANGE', P .. key, from, from + page - 1, 'REV')
  for _, sid in ipairs(found) do
    if R.by_cost then sid = string.sub(sid, 20) end -- behind the amount
    if R.since and changed(sid) < R.since then
      if not R.by_cost then return rows end
    elseif came(sid) then
      rows[#rows + 1] = call('HGETALL', P .. 'sess:' .. sid)
      if #rows == R.limit then return rows end
    end
  end
  if #found < page then return rows end
end

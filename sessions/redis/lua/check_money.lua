-- uses: money
-- A page of sessions: the sums of its roots and of all below them, held to what
-- they are made of.
local problems = {}
local function wrong(what, name, got, want)
  if got ~= want then problems[#problems + 1] = what .. ' of ' .. name .. ' is ' .. tostring(got) .. ', not ' .. tostring(want) end
end

-- walk is what a session and all below it spent, hold, and have without a price.
local walk
function walk(sid)
  local key = P .. 'sess:' .. sid
  local row = call('HMGET', key, 'own', 'subtree', 'held', 'unpriced')
  local own, held, unpriced = '0', '0', 0
  for _, no in ipairs(call('LRANGE', P .. 'entries:' .. sid, 0, -1)) do
    local found = call('XRANGE', P .. 'ledger', '0-' .. no, '0-' .. no)[1]
    if not found then
      wrong('entry ' .. no, sid, 'missing', 'there')
    else
      local e = found[2]
      local amount = string.match(e[12], '"amount":(%-?%d+)')
      if not amount then wrong('the amount', e[2], 'missing', 'there') end
      own = money.sum(own, amount or '0')
      if string.find(e[12], '"priced":false', 1, true) then unpriced = unpriced + 1 end
    end
  end
  for _, cid in ipairs(call('SMEMBERS', P .. 'holds:' .. sid)) do
    held = money.sum(held, call('HGET', P .. 'call:' .. cid, 'held') or '0')
  end
  wrong('own cost', sid, row[1], own)
  local subtree = own
  for _, kid in ipairs(call('LRANGE', P .. 'kids:' .. sid, 0, -1)) do
    local s, h, u = walk(kid)
    subtree, held, unpriced = money.sum(subtree, s), money.sum(held, h), unpriced + u
  end
  wrong('the subtree', sid, row[2], subtree)
  wrong('what is held', sid, row[3], held)
  wrong('calls without a price', sid, row[4], int(unpriced))
  return subtree, held, unpriced
end

local page = call('ZRANGE', P .. 'ids', R.after, '+', 'BYLEX', 'LIMIT', 0, R.limit)
for _, sid in ipairs(page) do
  if call('HGET', P .. 'sess:' .. sid, 'parent') == '' then
    local subtree = walk(sid)
    if not call('ZSCORE', P .. 'dear', money.sortable(subtree) .. sid) then
      wrong('the place by cost', sid, 'missing', 'there')
    end
  end
end
return { page[#page] or '', problems }

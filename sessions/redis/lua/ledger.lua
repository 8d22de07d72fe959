-- A page of the ledger: entries, and the prices that they name.
local rows, prices, seen = {}, {}, {}

local function add(row)
  local e = {}
  for i = 2, #row[2], 2 do e[i / 2] = row[2][i] end
  local session, at, price, entry = e[2], e[4], e[5], e[6]
  rows[#rows + 1] = { string.sub(row[1], 3), session, at, price, entry }
  if price ~= '' and not seen[price] then
    seen[price] = true
    prices[#prices + 1] = price
    prices[#prices + 1] = call('LINDEX', P .. 'prices', price)
  end
end

if R.session == '' then
  for _, row in ipairs(call('XRANGE', P .. 'ledger', '(0-' .. int(R.after), '+', 'COUNT', R.limit)) do add(row) end
else
  for _, no in ipairs(call('LRANGE', P .. 'entries:' .. R.session, R.after, R.after + R.limit - 1)) do
    add(call('XRANGE', P .. 'ledger', '0-' .. no, '0-' .. no)[1])
  end
end
return { rows, prices }

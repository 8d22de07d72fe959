-- What R.reads asks for, each a command. Three are no commands of Redis: BOX is a
-- mailbox with its open turn, CALL a call or where it was booked, and BOXES, with a
-- command that names mailboxes, these names and their mailboxes.
local function boxOf(token)
  local b = call('HGETALL', P .. 'box:' .. token)
  local turn = call('HGET', P .. 'box:' .. token, 'turn')
  return { b, turn and turn ~= '' and call('HGETALL', P .. 'turn:' .. turn) or {} }
end

local function callOf(cid)
  local row = call('HGETALL', P .. 'call:' .. cid)
  local no = #row == 0 and call('HGET', P .. 'booked', cid)
  if not no then return { row, {} } end
  local e = call('XRANGE', P .. 'ledger', '0-' .. no, '0-' .. no)[1]
  return { row, e and e[2] or {} }
end

local found = {}
for i, read in ipairs(R.reads) do
  if read[1] == 'BOX' then
    found[i] = boxOf(read[2])
  elseif read[1] == 'CALL' then
    found[i] = callOf(read[2])
  elseif read[1] == 'BOXES' then
    local names, boxes = call(unpack(read, 2)), {}
    for n, token in ipairs(names) do boxes[n] = boxOf(token) end
    found[i] = { names, boxes }
  else
    found[i] = call(unpack(read))
  end
end
return { call('HGET', P .. 'meta', 'gen') or '0', found }

-- Chats that moved: next:<bot>, prev:<bot> and movedat:<bot>, from the old id to
-- the new one, back, and when. Chats that were shut, by the oldest id known then:
-- shut:<chat>.
local chat = {}
chat.most = 16 -- ids of one chat are followed

-- load is what is known of a chat.
function chat.load(network, account, peer)
  local bot = id(network, account)
  local ids = { peer }
  while #ids < chat.most do
    local before = call('HGET', P .. 'prev:' .. bot, ids[1])
    if not before then break end
    table.insert(ids, 1, before)
  end
  while #ids < chat.most do
    local after = call('HGET', P .. 'next:' .. bot, ids[#ids])
    if not after then break end
    ids[#ids + 1] = after
  end
  local c = { ids = ids, bot = bot, moved = '', shut = 0, network = network, account = account }
  if #ids > 1 then c.moved = call('HGET', P .. 'movedat:' .. bot, ids[#ids]) or '' end
  for _, one in ipairs(ids) do
    if call('HGET', P .. 'shut:' .. id(network, account, one), 'open') == '0' then c.shut = 1 end
  end
  return c
end

function chat.answer(c) return { c.ids, c.moved, c.shut } end

-- uses: chat
local c = chat.load(R.channel, R.account, R.peer)
for _, one in ipairs(c.ids) do
  if one == R.to then return chat.answer(c) end
end
if #c.ids >= chat.most then return chat.answer(c) end
-- What is known of the new id already comes behind it.
if chat.load(R.channel, R.account, R.to).ids[1] ~= R.to then return chat.answer(c) end
local current = c.ids[#c.ids]
call('HSET', P .. 'next:' .. c.bot, current, R.to)
call('HSET', P .. 'prev:' .. c.bot, R.to, current)
call('HSET', P .. 'movedat:' .. c.bot, R.to, int(R.at))
return chat.answer(chat.load(R.channel, R.account, R.peer))

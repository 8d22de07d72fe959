-- uses: chat
for _, one in ipairs(chat.load(R.channel, R.account, R.peer).ids) do
  local key = P .. 'shut:' .. id(R.channel, R.account, one)
  local opened = call('HGET', key, 'opened_at')
  if opened then call('HSET', key, 'open', 1, 'opened_at', int(math.max(tonumber(opened), R.at))) end
end

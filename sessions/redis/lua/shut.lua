-- uses: chat outbox control
local c = chat.load(R.channel, R.account, R.peer)
local oldest = id(R.channel, R.account, c.ids[1])
local key = P .. 'shut:' .. oldest
local was = hash(key)
if was and was.open == '1' and R.at <= tonumber(was.opened_at) then return { 0, 0, {} } end
if c.shut == 1 then
  if not was or was.cause ~= R.id then return { 1, 0, {} } end
  local tokens, seen = {}, {} -- its answer was lost
  for _, cid in ipairs(call('ZRANGE', P .. 'shutting:' .. oldest, 0, -1)) do
    local token = call('HGET', P .. 'control:' .. cid, 'token')
    if not seen[token] then tokens[#tokens + 1], seen[token] = token, true end
  end
  table.sort(tokens)
  return { 1, was.dropped, tokens }
end

local dropped, tokens = 0, {}
for _, one in ipairs(c.ids) do
  local of = id(R.channel, R.account, one)
  for _, oid in ipairs(call('SMEMBERS', P .. 'outof:' .. of)) do
    local o = outbox.load(oid)
    for _, p in ipairs(o.parts) do
      if p.state ~= 'sent' and p.state ~= 'failed' then
        p.state, p.problem, p.at = 'failed', R.problem, int(R.at)
        outbox.save(o, p)
      end
    end
    outbox.close(o)
    dropped = dropped + 1
  end
  for _, token in ipairs(call('SMEMBERS', P .. 'boxesof:' .. of)) do
    local b = box.load(token)
    if b.touched > b.read or b.turn ~= '' then
      tokens[#tokens + 1] = token
      local request = {
        id = 'shut-' .. token .. '-' .. R.id, token = token, key = b.key, kind = 'shut', through = b.touched, channel = '',
        event = cjson.encode({ Channel = R.channel, Account = R.account, Chat = c.ids[1], Event = '' }),
        origin = b.origin, reply_to = '', sender = '', at = R.at,
      }
      if control.make(b, request, oldest) then box.save(b) end
    end
  end
end
table.sort(tokens)
call('HSET', key, 'cause', R.id, 'dropped', dropped, 'open', 0, 'opened_at', was and was.opened_at or 0)
return { 1, dropped, tokens }

-- uses: outbox
local found = {}
for i, oid in ipairs(call('ZRANGEBYSCORE', P .. 'pending:' .. R.channel, '(' .. int(R.after), '+inf', 'LIMIT', 0, R.limit)) do
  found[i] = outbox.answer(oid)
end
return found

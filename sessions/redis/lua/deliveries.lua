-- uses: outbox
local found = {}
for i, oid in ipairs(call('LRANGE', P .. 'outs:' .. R.id, R.first, R.last)) do found[i] = outbox.answer(oid) end
return found

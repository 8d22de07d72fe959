local found = {}
for i, cid in ipairs(call('ZRANGE', P .. 'controls:' .. R.token, 0, -1)) do found[i] = call('HGETALL', P .. 'control:' .. cid) end
return found

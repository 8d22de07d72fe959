local meta = P .. 'meta'
if call('HGET', meta, 'generation') == R.name then return { call('HGET', meta, 'lost') } end
local queued = call('ZRANGE', P .. 'queued', 0, -1)
call('HSET', meta, 'generation', R.name, 'lost', #queued, 'highest', 0)
call('HINCRBY', meta, 'gen', 1)
for _, token in ipairs(queued) do box.save(box.load(token)) end
for _, control in ipairs(call('ZRANGE', P .. 'controls', 0, -1)) do call('HSET', P .. 'control:' .. control, 'through', 0) end
return { #queued }

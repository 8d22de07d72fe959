-- Workers: until, by id(name, nonce); gone, those that never come back;
-- names:<name>, the nonces that are not gone.
local worker = id(R.name, R.nonce)
if call('SISMEMBER', P .. 'gone', worker) == 1 then refuse('fenced') end
for _, nonce in ipairs(call('SMEMBERS', P .. 'names:' .. R.name)) do
  if nonce ~= R.nonce then
    call('SADD', P .. 'gone', id(R.name, nonce))
    call('HDEL', P .. 'until', id(R.name, nonce))
    call('SREM', P .. 'names:' .. R.name, nonce)
  end
end
call('SADD', P .. 'names:' .. R.name, R.nonce)
if R['until'] > tonumber(call('HGET', P .. 'until', worker) or 0) then
  call('HSET', P .. 'until', worker, int(R['until']))
end

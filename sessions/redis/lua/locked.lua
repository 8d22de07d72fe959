-- Who takes the database over.
local lock = P .. 'takeover'
if call('GET', lock) ~= R.me then return { 0 } end
call('PEXPIRE', lock, R['for'])
for i = 1, #R.fields, 2 do
  local name, value = R.fields[i], R.fields[i + 1]
  -- The order of answers never goes back, also when a take-over is begun again.
  if name ~= 'outbox' or tonumber(value) > tonumber(call('HGET', P .. 'meta', name) or 0) then
    call('HSET', P .. 'meta', name, value)
  end
end
return { 1 }

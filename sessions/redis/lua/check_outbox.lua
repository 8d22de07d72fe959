local wrong = {}
for _, oid in ipairs(call('ZRANGE', P .. 'unsent', 0, -1)) do
  local o = call('HMGET', P .. 'out:' .. oid, 'done', 'channel', 'no')
  if o[1] ~= '0' or not call('ZSCORE', P .. 'pending:' .. o[2], oid) then wrong[#wrong + 1] = oid end
end
return wrong

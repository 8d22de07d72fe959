local rows = {}
if R.limit > 0 then
  for _, token in ipairs(call('ZRANGE', P .. 'queued', 0, R.limit - 1)) do
    rows[#rows + 1] = call('HMGET', P .. 'box:' .. token, 'token', 'key', 'touched', 'read')
  end
end
return { call('ZCARD', P .. 'queued'), rows }

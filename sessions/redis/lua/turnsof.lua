local rows = {}
for _, tid in ipairs(call('ZRANGE', P .. 'turnsof:' .. R.session, 0, -1)) do
  rows[#rows + 1] = call('HGETALL', P .. 'turn:' .. tid)
end
return rows

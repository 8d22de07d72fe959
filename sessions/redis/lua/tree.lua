local rows, level = {}, { R.session }
while #level > 0 do
  local below = {}
  for _, sid in ipairs(level) do
    local row = call('HGETALL', P .. 'sess:' .. sid)
    if #row == 0 then refuse('notfound', 'session ' .. sid) end
    rows[#rows + 1] = row
    for _, kid in ipairs(call('LRANGE', P .. 'kids:' .. sid, 0, -1)) do below[#below + 1] = kid end
  end
  level = below
end
return rows

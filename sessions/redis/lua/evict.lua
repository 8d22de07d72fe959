local ended = 0
for _, owner in ipairs(call('SMEMBERS', P .. 'owners')) do
  for _, token in ipairs(call('ZRANGE', P .. 'owned:' .. owner, 0, R.limit - ended - 1)) do
    box.handOver(box.load(token))
    ended = ended + 1
  end
  if ended >= R.limit then break end
end
return { ended }

local found = {}
for _, name in ipairs(call('SMEMBERS', P .. 'active')) do
  local where = cjson.decode(name)
  local n = call('ZCOUNT', P .. 'active:' .. id(where[1], where[2]), R.since, '+inf')
  if n > 0 then found[#found + 1] = { where[1], where[2], n } end
end
return found

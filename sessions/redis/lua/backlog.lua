-- first is when the first of a sorted set began to wait.
local function first(key) return call('ZRANGE', P .. key, 0, 0, 'WITHSCORES')[2] or '0' end

local parked = 0
for _, token in ipairs(call('ZRANGE', P .. 'running', 0, -1)) do
  if call('HGET', P .. 'turn:' .. call('HGET', P .. 'box:' .. token, 'turn'), 'state') == 'parked' then parked = parked + 1 end
end
return {
  call('ZCARD', P .. 'running'), parked, call('ZCARD', P .. 'waits'), first('waits'),
  call('ZCARD', P .. 'unsent'), first('unsent'), call('SCARD', P .. 'ambiguous'),
}

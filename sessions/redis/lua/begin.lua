-- uses: turn
turn.open(R.fence, R.turn)
local key, field = P .. 'begun:' .. R.turn, id(int(R.step), R.call)
local mine = id(int(R.fence.epoch), R.fence.nonce)
call('HSETNX', key, field, mine)
return { call('HGET', key, field) == mine and 0 or 1 }

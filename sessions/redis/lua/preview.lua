local key = P .. 'turn:' .. R.turn
if call('EXISTS', key) == 0 then refuse('notfound') end
call('HSET', key, 'preview', R.message)

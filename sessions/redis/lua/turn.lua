return { call('HGETALL', P .. 'turn:' .. R.id) }

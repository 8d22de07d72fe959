return { call('HGETALL', P .. 'spend:' .. R.name) }

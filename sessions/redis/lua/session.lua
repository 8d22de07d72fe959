return { call('HGETALL', P .. 'sess:' .. R.id) }

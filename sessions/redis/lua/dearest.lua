return { call('ZRANGE', P .. 'dearest:' .. R.day, '+', '-', 'BYLEX', 'REV', 'LIMIT', 0, R.limit) }

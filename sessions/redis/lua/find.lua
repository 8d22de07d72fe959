return { call('ZRANGE', P .. 'ids', '[' .. R.prefix, '+', 'BYLEX', 'LIMIT', 0, R.limit) }

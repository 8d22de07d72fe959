return call('ZRANGE', P .. 'used', R.from, R.to, 'BYLEX', 'LIMIT', 0, R.limit)

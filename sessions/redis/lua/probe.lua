call('HSET', P .. 'meta', 'probe', R.at)

return call('LRANGE', P .. 'asked:' .. R.session, R.after, R.after + R.limit - 1)

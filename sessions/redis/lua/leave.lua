local worker = id(R.name, R.nonce)
call('SADD', P .. 'gone', worker)
call('HDEL', P .. 'until', worker)
call('SREM', P .. 'names:' .. R.name, R.nonce)

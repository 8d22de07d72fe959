local meta = call('HMGET', P .. 'meta', 'generation', 'highest')
return { meta[1] or '', meta[2] or '0' }

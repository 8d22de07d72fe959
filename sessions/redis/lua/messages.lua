local count = call('HGET', P .. 'sess:' .. R.id, 'messages')
if not count then refuse('notfound') end
return { count, call('LRANGE', P .. 'msgs:' .. R.id, R.first, R.last) }

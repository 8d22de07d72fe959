local body = call('HGET', P .. 'frames', R.name)
if not body then refuse('notfound') end
return { body }

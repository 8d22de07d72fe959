return { call('HEXISTS', P .. 'frames', R.name) }

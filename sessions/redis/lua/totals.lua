local last = call('XREVRANGE', P .. 'ledger', '+', '-', 'COUNT', 1)[1]
return {
  call('HGETALL', P .. 'total:amount'), call('HGETALL', P .. 'total:calls'), call('HGETALL', P .. 'total:unknown'),
  last and string.sub(last[1], 3) or '0',
}

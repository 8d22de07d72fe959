local ids = call('ZRANGEBYLEX', P .. 'ids', '(' .. R.after, '+', 'LIMIT', 0, R.limit)
return { #ids == R.limit and ids[#ids] or '', ids }

local boxes = {}
for i, token in ipairs(call('ZRANGE', P .. 'owned:' .. id(R.name, R.nonce), 0, -1)) do boxes[i] = box.answer(box.load(token)) end
return boxes

local boxes = {}
for i, token in ipairs(call('ZRANGEBYLEX', P .. 'boxes', '(' .. R.after, '+', 'LIMIT', 0, R.limit)) do
  boxes[i] = box.answer(box.load(token))
end
return boxes

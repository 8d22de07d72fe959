-- uses: worker
if worker.gone(R.name, R.nonce) then refuse('fenced') end
if not worker.lives(R.name, R.nonce, R.now) then return {} end
local left = {}
for _, token in ipairs(worker.left(R.name, R.nonce, R.now, R.limit)) do left[#left + 1] = token end
if #left < R.limit then
  for _, token in ipairs(call('ZRANGE', P .. 'free', 0, R.limit - #left - 1)) do left[#left + 1] = token end
end
local taken = {}
for i, token in ipairs(left) do
  local b = box.load(token)
  box.take(b, R.name, R.nonce)
  box.save(b)
  taken[i] = box.answer(b)
end
return taken

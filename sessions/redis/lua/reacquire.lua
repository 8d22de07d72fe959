-- uses: worker
local f = R.fence
local b = box.load(f.token)
if b and b.prior ~= 0 and b.prior == f.epoch and b.epoch == f.epoch + 1 and b.owner_nonce == f.nonce then
  return box.answer(b) -- its answer was lost
end
if not b or not box.held(b, f) or worker.gone(b.owner_name, b.owner_nonce) then refuse('fenced') end
b.prior = b.epoch
box.again(b)
box.save(b)
return box.answer(b)

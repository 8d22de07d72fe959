-- uses: worker
local b = box.find(R.token, R.key, R.origin, R.session, R.now)
local noted, got = box.note(b, R.seq, R.now), 0
if R.take and box.owed(b) and b.owner_nonce ~= R.nonce
  and not worker.lives(b.owner_name, b.owner_nonce, R.now) and worker.lives(R.name, R.nonce, R.now) then
  box.take(b, R.name, R.nonce)
  got = 1
end
if noted or got == 1 then box.save(b) end
return { got, box.answer(b) }

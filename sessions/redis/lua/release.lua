local f = R.fence
local b = box.load(f.token)
if b and box.givenUp(b, f) then return { 1, box.answer(b) } end
if not b or not box.held(b, f) then refuse('fenced') end
if box.owed(b) then return { 0, box.answer(b) } end
box.giveUp(b)
b.attempts = 0
box.save(b)
return { 1, box.answer(b) }

local f = R.fence
local b = box.load(f.token)
if b and box.givenUp(b, f) then return end
if not b or not box.held(b, f) then refuse('fenced') end
box.handOver(b)

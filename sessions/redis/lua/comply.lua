-- uses: control outbox
local b = box.owned(R.fence)
for _, cid in ipairs(R.ids) do control.done(b, cid) end
if R.read > b.read then box.restart(b) end
box.pass(b, R.read)
outbox.queue(R.replies)
box.save(b)

-- uses: inbox outbox
local b = box.owned(R.fence)
local row = inbox.row(R.fence.token, '', R.seq, R.fence)
local was = inbox.get(R.event)
if was == row then return { 1 } end -- its answer was lost
if was then
  box.skip(b, R.seq)
  return { 0 }
end
if R.fresh ~= '' and R.fresh ~= b.session then
  if call('EXISTS', P .. 'sess:' .. R.fresh) == 1 then refuse('refused', 'session ' .. R.fresh .. ' is there already') end
  session.make({ id = R.fresh, key = b.key, root = R.fresh, role = 'main', created = R.at }, '')
  b.session = R.fresh
end
inbox.note(R.event, row)
for _, e in ipairs(R.with) do inbox.note(e, row) end
box.pass(b, R.seq)
box.restart(b)
box.save(b)
outbox.queue(R.replies)
return { 1 }

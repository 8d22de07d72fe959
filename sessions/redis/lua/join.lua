-- uses: turn inbox
local b = box.owned(R.fence)
if R.turn == '' or b.turn ~= R.turn then refuse('fenced') end
local row = inbox.row(R.fence.token, R.turn, R.seq, R.fence)
local known = {}
for i, e in ipairs(R.events) do
  if inbox.get(e) then known[#known + 1] = i - 1 end
end
if #known > 0 then
  if #known < #R.events then refuse('known', '', known) end
  if inbox.get(R.events[1]) == row then return { 1 } end -- its answer was lost
  box.skip(b, R.through)
  return { 0 }
end
for _, e in ipairs(R.events) do inbox.note(e, row) end
inbox.word(R.words)
box.pass(b, R.through)
box.save(b)
session.append(turn.load(R.turn).session, { R.message }, R.at)
return { 1 }

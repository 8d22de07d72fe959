-- uses: turn outbox money spend charge
local f, at = R.fence, R.moment.at
local settlement = R.settlements[1]
local b = box.load(f.token)
local holds = box.holds(f)
local t = turn.load(R.turn)
if not t and holds then refuse('notfound', 'turn ' .. R.turn) end
local plan = spend.plan()
if settlement then charge.book(plan, settlement) end
if t and b and t.state == 'done' and t.token == f.token and t.end_epoch == f.epoch and t.end_nonce == f.nonce then
  charge.save(plan)
  -- Its answer was lost. Whose mailbox somebody took since must not go on with it.
  if t.released == 0 and not holds then return fenced() end
  return { t.released, box.answer(b) }
end
if not holds or t.token ~= f.token or t.state == 'done' then
  charge.save(plan)
  return fenced()
end

local ended = { t }
if t.nested == 0 and R.nested then
  for _, tid in ipairs(call('SMEMBERS', P .. 'nested:' .. f.token)) do ended[#ended + 1] = turn.load(tid) end
end
for _, n in ipairs(ended) do charge.interrupt(plan, f.token, n.id, R.moment) end
charge.save(plan)
session.append(t.session, R.messages, at)
outbox.queue(R.replies)
if settlement and #R.messages > 0 then turn.stepOn(t, settlement.purpose, settlement.step) end
if t.nested == 0 then
  b.turn, b.attempts = '', 1
  if not box.owed(b) then
    t.released, b.attempts = 1, 0
    box.giveUp(b)
  end
  box.save(b)
end
t.refused = R.refused
for i, n in ipairs(ended) do
  n.state, n.outcome, n.ended_at, n.end_epoch, n.end_nonce = 'done', i == 1 and R.outcome or 'canceled', at, f.epoch, f.nonce
  turn.save(n)
end
return { t.released, box.answer(b) }

-- uses: outbox
local o = outbox.load(R.id)
if not o then refuse('notfound') end
local follows = {
  pending = { sending = true, failed = true },
  sending = { sent = true, failed = true, ambiguous = true, pending = true },
  ambiguous = { sending = true, sent = true, failed = true, pending = true },
}
if o.was == 0 and o.done == '0' then
  for i = 1, #R.bodies do
    o.parts[i] = { i = i, state = 'pending', attempts = 0, message_id = '', problem = '', at = '', by = '' }
  end
end
if R.close and #o.parts > 0 then refuse('refused', 'close it: it has parts') end
local moved = {}
for _, m in ipairs(R.marks) do
  local p = o.parts[m.index + 1]
  local where = 'part ' .. int(m.index)
  if not p then refuse('notfound', where .. ' of ' .. #o.parts) end
  if not (follows[m.from] and follows[m.from][m.to]) then refuse('fenced', where .. ' from ' .. m.from .. ' to ' .. m.to) end
  if not (p.state == m.to and p.message_id == m.message_id and p.problem == m.problem and p.at == m.at and p.by == m.by) then
    if p.state ~= m.from then refuse('fenced', where .. ' is ' .. p.state .. ', not ' .. m.from) end
    p.state, p.message_id, p.problem, p.at, p.by = m.to, m.message_id, m.problem, m.at, m.by
    if m.to == 'sending' then p.attempts = p.attempts + 1 end
    moved[p.i] = true
  end
end
local finished = #o.parts > 0
for i, p in ipairs(o.parts) do
  if i > o.was then
    outbox.save(o, p, R.bodies[i])
  elseif moved[i] then
    outbox.save(o, p)
  end
  finished = finished and (p.state == 'sent' or p.state == 'failed')
end
if o.done == '0' and (R.close or finished) then outbox.close(o) end

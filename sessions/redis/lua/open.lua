-- uses: turn inbox
local o = R.turn
local b = box.owned(R.fence)
local base = b.session
if b.turn ~= '' then base = turn.load(b.turn).session end
local nested = o.session ~= '' and o.session ~= base

local t = turn.load(o.id)
if t then -- it was opened before
  if t.token ~= b.token then refuse('refused', 'another mailbox has a turn of this id') end
  if t.state ~= 'done' then return { 1, flat(t) } end
  if t.nested == 0 then box.skip(b, R.through) end
  return { 0 }
end
local known = {}
for i, e in ipairs(R.events) do
  if inbox.get(e) then known[#known + 1] = i - 1 end
end
if #known > 0 then
  if #known < #R.events then refuse('known', '', known) end
  if not nested then box.skip(b, R.through) end
  return { 0 }
end
if nested then
  session.descends(o.session, base)
elseif b.turn ~= '' then
  refuse('refused', 'turn ' .. b.turn .. ' is open in this mailbox')
end

o.nested, o.attempts, o.state = 1, 1, 'open'
if not nested then o.nested, o.attempts, o.session = 0, math.max(1, b.attempts), b.session end
turn.make(o)
for _, e in ipairs(R.events) do inbox.note(e, inbox.row(R.fence.token, o.id, o.seq, R.fence)) end
inbox.word(R.words)
if not nested then
  box.pass(b, R.through)
  b.turn = o.id
  box.save(b)
end
session.append(o.session, { R.message }, o.opened_at)
return { 1, flat(o) }

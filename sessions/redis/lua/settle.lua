-- uses: turn money spend charge
local plan = spend.plan()
local tid = charge.book(plan, R.settlement)
if not box.holds(R.fence) then
  charge.save(plan)
  return fenced()
end
if #R.messages == 0 then
  charge.save(plan)
  return {}
end
local t = turn.load(tid)
if not t then refuse('notfound', 'turn ' .. tid) end
charge.save(plan)
if t.token ~= R.fence.token then return fenced() end
session.append(t.session, R.messages, R.settlement.at)
if turn.stepOn(t, R.settlement.purpose, R.settlement.step) then turn.save(t) end
return {}

-- uses: turn money spend charge
local b = box.owned(R.fence)
if b.turn == '' then refuse('notfound') end
local plan = spend.plan()
charge.interrupt(plan, R.fence.token, nil, R.moment)
charge.save(plan)
return { call('HGETALL', P .. 'turn:' .. b.turn) }

-- uses: turn money spend charge asked
box.owned(R.fence)
if charge.isKnown(R.id) then return {} end
local plan = spend.plan()
charge.hold(plan, R)
if R.asked then
  asked.need(R.asked)
  asked.keep(R.session, R.asked)
end
charge.reserve(plan, R.fence.token, R)
return {}

-- uses: inbox
local known = {}
for i, e in ipairs(R.events) do known[i] = inbox.get(e) and 1 or 0 end
return known

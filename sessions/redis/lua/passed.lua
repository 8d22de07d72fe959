FACT = R.fact
local done = isApplied()
FACT = nil
return { done and 1 or 0 }

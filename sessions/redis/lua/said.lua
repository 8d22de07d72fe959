-- uses: inbox
local sum = inbox.said(R)
return { sum and 1 or 0, sum or '' }

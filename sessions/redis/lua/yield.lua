-- uses: worker
local f = R.fence
local b = box.load(f.token)
if b and box.givenUp(b, f) then return { 1 } end
if not b or not box.held(b, f) then refuse('fenced') end
local last = call('ZREVRANGE', P .. 'free', 0, 0, 'WITHSCORES')
local since = 0
if last[2] then
  since = tonumber(last[2])
elseif #worker.left(b.owner_name, b.owner_nonce, R.now, 1) == 0 then
  return { 0 }
end
b.waiting = math.max(R.now, since + 1) -- clocks differ
box.handOver(b)
return { 1 }

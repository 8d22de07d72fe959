-- What every script ends with.
if ERA ~= '' and call('HGET', P .. 'meta', 'era') ~= ERA then return { 'era', '' } end
local before = FACT and isApplied()
if FACT and MODE ~= 'live' and before then return { 'ok', '', {} } end
if REPLAY and BOX then
  -- The row tells of a fence that was given before the fact could be applied.
  local b = box.load(BOX.token)
  if b and b.epoch > BOX.epoch and b.base < FACT then
    REPLAY, LATE = false, true
  else
    box.remake(BOX)
  end
end
local ok, answer = pcall(main)
if not ok and not (type(answer) == 'table' and answer.refused) then error(answer, 0) end
local refused = answer and answer.refused
if FACT then
  if refused and before and not call('ZSCORE', P .. 'voids', int(FACT)) then return { 'held', '', {} } end
  if refused and not before then
    call('ZADD', P .. 'voids', FACT, int(FACT))
    call('ZREMRANGEBYRANK', P .. 'voids', 0, -10001)
  end
  applied()
  if BOX and not refused then box.done(BOX.token) end
end
if refused then return { refused, answer.text, answer.data or {} } end
return { 'ok', '', answer or {} }

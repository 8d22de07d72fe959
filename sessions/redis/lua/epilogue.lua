-- What every script but commit.lua ends with.
if ERA ~= '' and call('HGET', P .. 'meta', 'era') ~= ERA then return { 'era', '' } end
if FACT and isApplied() then return { 'ok', '', {} } end
local ok, answer = pcall(main)
if not ok and not (type(answer) == 'table' and answer.refused) then error(answer, 0) end
local refused = answer and answer.refused
if refused then return { refused, answer.text, answer.data or {} } end
if FACT then applied() end
return { 'ok', '', answer or {} }

-- What models were asked: asked:<session>, attempts in the order of reserving, and
-- frames, by name.
local asked = {}

-- need refuses when a says neither the body of its frame nor one that is kept.
function asked.need(a)
  if not a.body and call('HEXISTS', P .. 'frames', a.frame) == 0 then refuse('frame') end
end

-- keep writes an attempt down, and its frame with it when it is new.
function asked.keep(sid, a)
  if a.body then call('HSETNX', P .. 'frames', a.frame, a.body) end
  call('RPUSH', P .. 'asked:' .. sid, a.attempt)
end

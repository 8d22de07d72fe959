-- Answers on their way out: out:<id>, with the parts as b1 (body), s1 (state), a1
-- (attempts), m1 (message id), p1 (problem), t1 (time), w1 (who made the mark), b2, …
--
--   pending:<channel> not finished, by the order they were queued; channels: the channels
--   unsent            not finished, by when they were queued
--   outof:<chat>      not finished, of a chat
--   outs:<session>    all of a session, in the order they were queued
--   ambiguous         parts that may have arrived, of those
local outbox = {}

-- answer is an answer for Go, with the preview of its turn and when that was asked.
function outbox.answer(oid)
  local o = call('HGETALL', P .. 'out:' .. oid)
  local tid = call('HGET', P .. 'out:' .. oid, 'turn')
  local t = { '', '' }
  if tid and tid ~= '' then t = call('HMGET', P .. 'turn:' .. tid, 'preview', 'received_at') end
  return { o, t[1] or '', t[2] or '' }
end

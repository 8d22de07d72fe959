-- Answers on their way out: out:<id>, with the parts as b1 (body), s1 (state), a1
-- (attempts), m1 (message id), p1 (problem), t1 (time), w1 (who made the mark), b2, …
--
--   pending:<channel> not finished, by the order they were queued; channels: the channels
--   unsent            not finished, by when they were queued
--   outof:<chat>      not finished, of a chat
--   outs:<session>    all of a session, in the order they were queued
--   ambiguous         parts that may have arrived, of those
local outbox = {}

-- queue adds answers that are not there yet.
function outbox.queue(replies)
  for _, o in ipairs(replies) do
    if call('EXISTS', P .. 'out:' .. o.id) == 0 then
      o.no, o.done, o.parts = call('HINCRBY', P .. 'meta', 'outbox', 1), 0, 0
      store(P .. 'out:' .. o.id, o)
      call('ZADD', P .. 'pending:' .. o.channel, o.no, o.id)
      call('SADD', P .. 'channels', o.channel)
      call('ZADD', P .. 'unsent', o.at, o.id)
      if o.session ~= '' then call('RPUSH', P .. 'outs:' .. o.session, o.id) end
      call('SADD', P .. 'outof:' .. chatOf(o.target), o.id)
    end
  end
end

local function outboxPart(o, i)
  return {
    i = i, state = o['s' .. i], attempts = tonumber(o['a' .. i]), message_id = o['m' .. i], problem = o['p' .. i], at = o['t' .. i], by = o['w' .. i] or '',
  }
end

-- load is an answer with its parts, or nil.
function outbox.load(oid)
  local o = hash(P .. 'out:' .. oid)
  if not o then return nil end
  o.was = tonumber(o.parts)
  o.parts = {}
  for i = 1, o.was do o.parts[i] = outboxPart(o, i) end
  return o
end

-- save stores the state of a part, and body with it when it is new.
function outbox.save(o, p, body)
  local key = P .. 'out:' .. o.id
  call('HSET', key, 's' .. p.i, p.state, 'a' .. p.i, p.attempts, 'm' .. p.i, p.message_id, 'p' .. p.i, p.problem, 't' .. p.i, p.at, 'w' .. p.i, p.by)
  if body then call('HSET', key, 'b' .. p.i, body, 'parts', #o.parts) end
  call(p.state == 'ambiguous' and 'SADD' or 'SREM', P .. 'ambiguous', id(o.id, int(p.i)))
end

-- close takes an answer out of all that is not finished.
function outbox.close(o)
  call('HSET', P .. 'out:' .. o.id, 'done', 1)
  call('ZREM', P .. 'pending:' .. o.channel, o.id)
  call('ZREM', P .. 'unsent', o.id)
  call('SREM', P .. 'outof:' .. chatOf(o.target), o.id)
  for i = 1, #o.parts do call('SREM', P .. 'ambiguous', id(o.id, int(i))) end
end

-- answer is an answer for Go, with the preview of its turn and when that was asked.
function outbox.answer(oid)
  local o = call('HGETALL', P .. 'out:' .. oid)
  local tid = call('HGET', P .. 'out:' .. oid, 'turn')
  local t = { '', '' }
  if tid and tid ~= '' then t = call('HMGET', P .. 'turn:' .. tid, 'preview', 'received_at') end
  return { o, t[1] or '', t[2] or '' }
end

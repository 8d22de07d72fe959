-- Turns: turn:<id>. turnsof:<session>: a session's, by when they were opened.
-- nested:<token>: the open nested ones of a mailbox. active: instances and kinds of
-- chats by which roots had turns; active:<instance, kind>: these roots, by when the
-- last one was opened.
local turn = {}
local turnNumbers = { 'nested', 'seq', 'attempts', 'received_at', 'opened_at', 'ended_at', 'steps', 'tries', 'end_epoch', 'released' }

-- load is a turn, or nil.
function turn.load(tid)
  local t = hash(P .. 'turn:' .. tid)
  return t and numbers(t, turnNumbers)
end

-- make stores a new turn.
function turn.make(t)
  t.outcome, t.end_nonce, t.preview = '', '', ''
  numbers(t, turnNumbers)
  store(P .. 'turn:' .. t.id, t)
  call('ZADD', P .. 'turnsof:' .. t.session, t.opened_at, t.id)
  if t.nested == 1 then
    call('SADD', P .. 'nested:' .. t.token, t.id)
  elseif call('HGET', P .. 'sess:' .. t.session, 'parent') == '' then
    local kind = cjson.decode(t.origin).kind or ''
    call('SADD', P .. 'active', cjson.encode({ t.channel, kind }))
    call('ZADD', P .. 'active:' .. id(t.channel, kind), 'GT', t.opened_at, t.session)
  end
end

-- save stores what changes of a turn, but its attempts.
function turn.save(t)
  call('HSET', P .. 'turn:' .. t.id, 'state', t.state, 'outcome', t.outcome, 'ended_at', int(t.ended_at), 'steps', t.steps,
    'tries', t.tries, 'refused', t.refused or '', 'end_epoch', int(t.end_epoch), 'end_nonce', t.end_nonce, 'released', t.released)
  if t.nested == 1 and t.state == 'done' then call('SREM', P .. 'nested:' .. t.token, t.id) end
end

-- open is an open turn of the mailbox that f holds.
function turn.open(f, tid)
  box.owned(f)
  local t = turn.load(tid)
  if not t then refuse('notfound', 'turn ' .. tid) end
  if t.token ~= f.token or t.state == 'done' then refuse('fenced') end
  return t
end

-- ofLoop says whether a turn waits for calls of the purpose. A title or a summary
-- may still be under way when it ends.
function turn.ofLoop(purpose) return purpose ~= 'title' and purpose ~= 'summary' end

-- stepOn notes that a call of the turn's loop was answered, unless it is known.
-- The caller saves t.
function turn.stepOn(t, purpose, step)
  if not turn.ofLoop(purpose) or step <= t.steps then return false end
  t.steps, t.tries = step, 0
  return true
end

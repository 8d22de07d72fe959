-- Mailboxes: box:<token>, and what finds them:
--
--   boxes          all, by token
--   boxesof:<chat> those of a chat, by what chatOf says
--   free           owed work and nobody's, by since when
--   owned:<worker> a worker's, by token; owners: the workers that have any
--   owes:<worker>  of those, owed work, by since when
--   queued         messages wait that no turn has read, by since when
--   running, waits with an open turn; owed work without one; by since when
local box = {}
local boxNumbers = { 'touched', 'read', 'epoch', 'attempts', 'controls', 'prior', 'waiting', 'gen', 'fact', 'base', 'made' }

function box.owed(b) return b.touched > b.read or b.turn ~= '' or b.controls > 0 end

local function boxIndexes(b)
  local in_, owed = {}, box.owed(b)
  if b.owner_nonce ~= '' then
    local worker = id(b.owner_name, b.owner_nonce)
    in_['owned:' .. worker] = 0
    if owed then in_['owes:' .. worker] = b.waiting end
  elseif owed then
    in_.free = b.waiting
  end
  if b.touched > b.read then in_.queued = b.waiting end
  if b.turn ~= '' then
    in_.running = b.waiting
  elseif owed then
    in_.waits = b.waiting
  end
  return in_
end

-- load is a mailbox, or nil. Sequences of an older log count for nothing.
function box.load(token)
  local b = hash(P .. 'box:' .. token)
  if not b then return nil end
  numbers(b, boxNumbers)
  b.was = boxIndexes(b)
  local gen = tonumber(call('HGET', P .. 'meta', 'gen') or 0)
  if b.gen ~= gen then
    if b.touched > b.read and b.turn == '' then b.attempts = 0 end
    b.gen, b.touched, b.read = gen, 0, 0
  end
  return b
end

-- indexed says whether a mailbox stands where it is looked for, and nowhere else.
function box.indexed(b)
  local now = boxIndexes(b)
  for _, name in ipairs({ 'free', 'queued', 'running', 'waits' }) do
    local score = call('ZSCORE', P .. name, b.token)
    if (score and tonumber(score)) ~= (now[name] or false) then return false end
  end
  for name in pairs(now) do
    if not call('ZSCORE', P .. name, b.token) then return false end
  end
  return true
end

function box.save(b)
  local was, now = b.was, boxIndexes(b)
  b.was = nil
  store(P .. 'box:' .. b.token, b)
  for name in pairs(was) do
    if now[name] == nil then
      call('ZREM', P .. name, b.token)
      if string.sub(name, 1, 6) == 'owned:' and call('EXISTS', P .. name) == 0 then
        call('SREM', P .. 'owners', string.sub(name, 7))
      end
    end
  end
  for name, score in pairs(now) do
    if was[name] ~= score then
      call('ZADD', P .. name, score, b.token)
      if string.sub(name, 1, 6) == 'owned:' then call('SADD', P .. 'owners', string.sub(name, 7)) end
    end
  end
  b.was = now
end

-- make is a new mailbox, not saved yet. origin is the address of its key, as JSON.
function box.make(token, key, origin, session, now)
  call('ZADD', P .. 'boxes', 0, token)
  call('SADD', P .. 'boxesof:' .. chatOf(origin), token)
  local b = {
    token = token, key = key, origin = origin, session = session, made = now, owner_name = '', owner_nonce = '', last = '', turn = '', was = {},
    gen = tonumber(call('HGET', P .. 'meta', 'gen') or 0),
  }
  return numbers(b, boxNumbers)
end

-- find is the mailbox, made when there is none: with the session sid, or a child's
-- when that is empty.
function box.find(token, key, origin, sid, now)
  local b = box.load(token)
  if b then return b end
  if key == '' then refuse('refused', 'a new mailbox needs a token and a key') end
  if sid == '' then
    sid = call('GET', P .. 'child:' .. token)
    if not sid then refuse('notfound', "a child's mailbox before the child was spawned") end
  else
    session.make({ id = sid, key = key, root = sid, role = 'main', created = now }, '')
  end
  b = box.make(token, key, origin, sid, now)
  box.save(b)
  return b
end

function box.held(b, f) return f.nonce ~= '' and b.owner_nonce == f.nonce and b.epoch == f.epoch end

-- owned is the mailbox of the fence f; it refuses when f does not hold.
function box.owned(f)
  if LATE then refuse('fenced') end
  local b = box.load(f.token)
  if not b or not REPLAY and not box.held(b, f) then refuse('fenced') end
  return b
end

-- holds says whether f holds.
function box.holds(f)
  if LATE then return false end
  local b = box.load(f.token)
  return b ~= nil and (REPLAY or box.held(b, f))
end

-- givenUp says whether f was the last fence of a mailbox that nobody has taken
-- since.
function box.givenUp(b, f)
  return f.nonce ~= '' and b.owner_nonce == '' and b.last == f.nonce and b.epoch == f.epoch
end

local function highest(seq)
  if seq > tonumber(call('HGET', P .. 'meta', 'highest') or 0) then call('HSET', P .. 'meta', 'highest', seq) end
end

-- note makes seq the highest one, if it is; it says so.
function box.note(b, seq, now)
  if seq <= b.touched then return false end
  if not box.owed(b) then b.waiting = now end
  b.touched = seq
  highest(seq)
  return true
end

-- pass moves Read up to seq.
function box.pass(b, seq)
  if seq <= b.read then return end
  b.read = seq
  if b.touched < seq then
    b.touched = seq
    highest(seq)
  end
end

-- skip passes a message over, and saves: what is at the head now is taken up for
-- the first time.
function box.skip(b, seq)
  if seq <= b.read then return end
  box.pass(b, seq)
  box.restart(b)
  box.save(b)
end

function box.restart(b)
  if b.turn == '' then b.attempts = 1 end
end

-- attempt counts attempts of the work at the head, and of the open turn.
function box.attempt(b, n)
  b.attempts = math.max(0, b.attempts + n)
  if b.turn == '' then return end
  local key = P .. 'turn:' .. b.turn
  local attempts = tonumber(call('HGET', key, 'attempts') or 0)
  call('HSET', key, 'attempts', math.max(0, attempts + n))
end

-- again is another epoch and another attempt. What no fact under an older epoch
-- was applied of by now never will be.
function box.again(b)
  b.epoch = math.max(b.epoch, tonumber(call('HGET', P .. 'meta', 'epochs') or 0)) + 1
  b.base = b.fact
  box.attempt(b, 1)
end

function box.take(b, name, nonce)
  b.owner_name, b.owner_nonce, b.prior = name, nonce, 0
  box.again(b)
end

function box.giveUp(b)
  if b.owner_nonce ~= '' then b.last = b.owner_nonce end
  b.owner_name, b.owner_nonce, b.prior = '', '', 0
end

-- handOver leaves the mailbox with its attempt to nobody, and saves it.
function box.handOver(b)
  box.attempt(b, -1)
  box.giveUp(b)
  box.save(b)
end

-- answer is the mailbox and its open turn, for Go.
function box.answer(b)
  local turn = {}
  if b.turn ~= '' then turn = call('HGETALL', P .. 'turn:' .. b.turn) end
  return { flat(b), turn }
end

-- remake is the mailbox of a fact that is applied again: what made it may have
-- been forgotten.
function box.remake(f)
  if call('EXISTS', P .. 'sess:' .. f.session) == 0 then
    session.make({ id = f.session, key = f.key, root = f.session, role = 'main', created = f.at }, '')
  end
  local b = box.load(f.token) or box.make(f.token, f.key, f.origin, f.session, f.at)
  if f.epoch > b.epoch and f.base < 2 ^ 53 then b.epoch, b.base = f.epoch, math.max(b.base, f.base) end
  box.save(b)
end

-- done notes the last fact of a mailbox that was applied.
function box.done(token)
  local key = P .. 'box:' .. token
  if FACT > tonumber(call('HGET', key, 'fact') or 0) then call('HSET', key, 'fact', FACT) end
end

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
local boxNumbers = { 'touched', 'read', 'epoch', 'attempts', 'controls', 'prior', 'waiting', 'gen', 'v' }

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
  b.was, b.v = nil, b.v + 1
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

-- attempt counts attempts of the work at the head, and of the open turn.
function box.attempt(b, n)
  b.attempts = math.max(0, b.attempts + n)
  if b.turn == '' then return end
  local key = P .. 'turn:' .. b.turn
  local attempts = tonumber(call('HGET', key, 'attempts') or 0)
  call('HSET', key, 'attempts', math.max(0, attempts + n))
  call('HINCRBY', key, 'v', 1)
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

-- Commits the write-set of one operation, if the rows that it was computed from are
-- still as they were. It knows rows, indexes and sums; what they mean is the business
-- of package rules.
--
-- ARGV: the era and the generation that the operation saw ('': any), the number of
-- the fact, the way it is run, and then steps: a name, how many arguments, these.
--
-- Steps that look:
--   v key version            the row has this version; '': none
--   f key field value        the field of a hash; '': none
--   x key                    there is no such key
--   m key member             the set has no such member
--   h key field              the hash has such a field, or the answer is 'frame'
--   o key epoch nonce        the mailbox has this owner
--   t key name run-id        the lock is held under this name, and this is the server of
--                            that run id, or the answer is 'lock'
--   k value command…         what the command returns, one text or number
--   l n command… member…     a list, as the command of n words returns it; the members of a
--                            set in any order (Lua sorts by the language of the server)
-- Steps that reckon, and may be refused:
--   S session own subtree held unpriced at
--   N spending settled held doubt day limit number root day-of-the-tree
--   T labels amount unpriced
-- Steps that write:
--   c command…               as it is
--   + counter                the next number of a counter; it is answered
--   n position command…      with that number at a position
--   e key set member         the set loses the member when the key is gone
--   u session at             the session changed
--   s field number           the number in meta is at least this
--   g token                  a fence was given; its base is answered
--   d token                  the fact was one of this mailbox
--   B id session turn at price entry order columns
--   E session                it loses its messages, requests, title and the words of its
--                            answers that are done
local P, ERA, GEN, FACT, REPLAY = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4] == 'replay'
local call = redis.call
local META = P .. 'meta'

local function applied()
  local mark = tonumber(call('HGET', META, 'facts') or 0)
  if FACT <= mark then return end
  if FACT > mark + 1 then
    call('ZADD', P .. 'facts', FACT, ARGV[3])
    return
  end
  mark = FACT
  while call('ZREM', P .. 'facts', string.format('%.0f', mark + 1)) == 1 do mark = mark + 1 end
  call('HSET', META, 'facts', string.format('%.0f', mark))
end

if FACT and (FACT <= tonumber(call('HGET', META, 'facts') or 0) or call('ZSCORE', P .. 'facts', ARGV[3])) then
  return { 'before' }
end
local now = call('HMGET', META, 'era', 'gen')
if ERA ~= '' and now[1] ~= ERA then return { 'era' } end
if GEN ~= '' and (now[2] or '0') ~= GEN then return { 'conflict' } end

local plan = { known = {}, accounts = {}, spent = {}, totals = {} }

local function add(...) return money.sum(...) or error({ 'overflow' }, 0) end

local function account(sid)
  local key = P .. 'sess:' .. sid
  local a = plan.known[key]
  if a then return a end
  local row = call('HMGET', key, 'parent', 'own', 'subtree', 'held', 'unpriced')
  if not row[1] then error({ 'conflict' }, 0) end
  a = { id = sid, parent = row[1], own = row[2], subtree = row[3], held = row[4], unpriced = tonumber(row[5]), was = row[3] }
  plan.known[key], plan.accounts[#plan.accounts + 1] = a, a
  return a
end

local function spending(name)
  local key = P .. 'spend:' .. name
  local s = plan.known[key]
  if s then return s end
  local row = call('HMGET', key, 'settled', 'held', 'doubt', 'till')
  s = { key = key, settled = row[1] or '0', held = row[2] or '0', doubt = row[3] or '0', till = row[4] or '' }
  s.was = s.settled
  plan.known[key], plan.spent[#plan.spent + 1] = s, s
  return s
end

-- doubtful is what a scope over all time holds for interrupted calls on a day. Names
-- of days sort as the days do, and '' comes before all.
local function doubtful(s, day) return day <= s.till and s.doubt or '0' end

local look = {
  v = function(key, version) return (call('HGET', key, 'v') or '') == version end,
  f = function(key, field, value) return (call('HGET', key, field) or '') == value end,
  x = function(key) return call('EXISTS', key) == 0 end,
  m = function(key, member) return call('SISMEMBER', key, member) == 0 end,
  h = function(key, field)
    if call('HEXISTS', key, field) == 0 then error({ 'frame' }, 0) end
    return true
  end,
  o = function(key, epoch, nonce)
    local row = call('HMGET', key, 'epoch', 'owner_nonce')
    return row[1] == epoch and row[2] == nonce
  end,
  t = function(key, name, server)
    local here = string.find(call('INFO', 'server'), 'run_id:' .. server, 1, true)
    if not here or call('GET', key) ~= name then error({ 'lock' }, 0) end
    return true
  end,
  k = function(value, ...) return tostring(call(...)) == value end,
  l = function(n, ...)
    local all = { ... }
    n = tonumber(n)
    local found = call(unpack(all, 1, n))
    if #found ~= #all - n then return false end
    local set, known = all[1] == 'SMEMBERS', {}
    for i = n + 1, #all do known[all[i]] = true end
    for i, name in ipairs(found) do
      if set and not known[name] or not set and name ~= all[n + i] then return false end
    end
    return true
  end,
}

local reckon = {
  S = function(sid, own, subtree, held, unpriced, at)
    local a = account(sid)
    a.own, a.subtree, a.held = add(a.own, own), add(a.subtree, subtree), add(a.held, held)
    a.unpriced, a.at = a.unpriced + tonumber(unpriced), math.max(a.at or tonumber(at), tonumber(at))
  end,
  N = function(name, settled, held, doubt, day, limit, number, root, of)
    local s = spending(name)
    local before = add(s.settled, s.held, doubtful(s, day))
    s.settled, s.held = add(s.settled, settled), add(s.held, held)
    if doubt ~= '0' then
      s.doubt = add(doubtful(s, day), doubt)
      if s.till < day then s.till = day end
    end
    local sum = add(s.settled, s.held, doubtful(s, day))
    -- The fact of a reservation is not refused when it is applied again: its order
    -- among others may be another now, and it was granted.
    if not REPLAY and limit ~= '0' and money.less(limit, sum) then error({ 'limit', number, before }, 0) end
    if root ~= '' then s.root, s.day = root, of end
  end,
  T = function(labels, amount, unpriced)
    local t = plan.known[labels]
    if not t then
      t = { labels = labels, amount = call('HGET', P .. 'total:amount', labels) or '0', calls = 0, unknown = 0 }
      plan.known[labels], plan.totals[#plan.totals + 1] = t, t
    end
    t.amount, t.calls, t.unknown = add(t.amount, amount), t.calls + 1, t.unknown + tonumber(unpriced)
  end,
}

local function changed(sid, at)
  local key = P .. 'sess:' .. sid
  local row = call('HMGET', key, 'updated', 'parent')
  if not row[1] or tonumber(at) <= tonumber(row[1]) then return end
  call('HSET', key, 'updated', string.format('%.0f', at))
  if row[2] == '' then call('ZADD', P .. 'roots', at, sid) end
end

-- rank moves what is sorted by amount.
local function rank(key, was, is, name)
  if was == is then return end
  call('ZREM', key, money.sortable(was) .. name)
  call('ZADD', key, 0, money.sortable(is) .. name)
end

local function save()
  for _, a in ipairs(plan.accounts) do
    call('HSET', P .. 'sess:' .. a.id, 'own', a.own, 'subtree', a.subtree, 'held', a.held, 'unpriced', string.format('%.0f', a.unpriced))
    changed(a.id, a.at)
    if a.parent == '' then rank(P .. 'dear', a.was, a.subtree, a.id) end
  end
  for _, s in ipairs(plan.spent) do
    call('HSET', s.key, 'settled', s.settled, 'held', s.held)
    if s.till ~= '' then call('HSET', s.key, 'doubt', s.doubt, 'till', s.till) end
    if s.root then rank(P .. 'dearest:' .. s.day, s.was, s.settled, s.root) end
  end
  for _, t in ipairs(plan.totals) do
    call('HSET', P .. 'total:amount', t.labels, t.amount)
    call('HINCRBY', P .. 'total:calls', t.labels, t.calls)
    call('HINCRBY', P .. 'total:unknown', t.labels, t.unknown)
  end
end

-- priceNumber is where the copy of a price stands; '': none was known.
local function priceNumber(body)
  if body == '' then return '' end
  local no = call('HGET', P .. 'priceno', body)
  if no then return no end
  no = string.format('%.0f', call('RPUSH', P .. 'prices', body) - 1)
  call('HSET', P .. 'priceno', body, no)
  return no
end

local number, numbers, bases = '', {}, {}

local write = {
  c = function(from, to) call(unpack(ARGV, from, to)) end,
  ['+'] = function(from)
    number = string.format('%.0f', call('HINCRBY', META, ARGV[from], 1))
    numbers[#numbers + 1] = number
  end,
  n = function(from, to)
    local command = { unpack(ARGV, from + 1, to) }
    command[tonumber(ARGV[from])] = number
    call(unpack(command))
  end,
  e = function(from)
    if call('EXISTS', ARGV[from]) == 0 then call('SREM', ARGV[from + 1], ARGV[from + 2]) end
  end,
  u = function(from) changed(ARGV[from], ARGV[from + 1]) end,
  s = function(from)
    if tonumber(ARGV[from + 1]) > tonumber(call('HGET', META, ARGV[from]) or 0) then call('HSET', META, ARGV[from], ARGV[from + 1]) end
  end,
  g = function(from)
    local key = P .. 'box:' .. ARGV[from]
    local base = call('HGET', key, 'fact') or '0'
    call('HSET', key, 'base', base)
    bases[#bases + 1] = base
  end,
  d = function(from)
    local key = P .. 'box:' .. ARGV[from]
    if FACT and FACT > tonumber(call('HGET', key, 'fact') or 0) then call('HSET', key, 'fact', ARGV[3]) end
  end,
  B = function(from)
    local cid, sid, turn, at, price, entry, order, columns = unpack(ARGV, from, from + 7)
    local row = call('XADD', P .. 'ledger', '0-*', 'id', cid, 'session', sid, 'turn', turn, 'at', at, 'price', priceNumber(price), 'entry', entry)
    local no = string.sub(row, 3)
    call('HSET', P .. 'booked', cid, no)
    call('RPUSH', P .. 'entries:' .. sid, no)
    call('ZADD', P .. 'used', 0, order .. no .. ':' .. columns)
  end,
  E = function(from)
    local sid = ARGV[from]
    if call('EXISTS', P .. 'sess:' .. sid) == 0 then return end
    call('DEL', P .. 'msgs:' .. sid, P .. 'msgids:' .. sid, P .. 'asked:' .. sid)
    call('HSET', P .. 'sess:' .. sid, 'messages', '0', 'title', '')
    for _, name in ipairs(call('LRANGE', P .. 'outs:' .. sid, 0, -1)) do
      local key = P .. 'out:' .. name
      local row = call('HMGET', key, 'done', 'parts')
      if row[1] == '1' then
        call('HSET', key, 'text', '', 'file', '', 'choices', '')
        for n = 1, tonumber(row[2]) or 0 do call('HSET', key, 'b' .. n, '') end
        call('HINCRBY', key, 'v', 1)
      end
    end
  end,
}

-- each calls f for every step.
local function each(f)
  local i = 5
  while i <= #ARGV do
    local count = tonumber(ARGV[i + 1])
    f(ARGV[i], i + 2, i + 1 + count)
    i = i + 2 + count
  end
end

-- Nothing is written before all that may be refused.
local ok, refused = pcall(each, function(name, from, to)
  local seen = look[name]
  if seen then
    if not seen(unpack(ARGV, from, to)) then error({ 'conflict', name, ARGV[from], ARGV[from + 1] }, 0) end
  elseif reckon[name] then
    reckon[name](unpack(ARGV, from, to))
  end
end)
if not ok then
  if type(refused) == 'table' then return refused end
  error(refused, 0)
end
save()
each(function(name, from, to)
  if write[name] then write[name](from, to) end
end)
if FACT then applied() end
return { 'ok', bases, numbers }

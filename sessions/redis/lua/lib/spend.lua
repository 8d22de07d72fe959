-- What a change of money moves: sessions and scopes. A script first reckons all
-- of it on a plan, which writes nothing and may refuse; see charge.
--
--   spend:<kind, id, window>  what a scope settled and holds in a window
--   dearest:<day>             what trees settled on a day, with their roots
--   dear                      roots, with what their trees cost
local spend = {}

-- plan is empty. What it reads it keeps, in the order of the first use.
function spend.plan() return { accounts = {}, spent = {}, totals = {}, entries = {}, ended = {}, known = {} } end

function spend.add(...) return money.sum(...) or refuse('overflow') end

do
  local add = spend.add

  -- account is the sums of a session.
  local function account(plan, sid)
    local key = P .. 'sess:' .. sid
    local a = plan.known[key]
    if a then return a end
    local row = call('HMGET', key, 'parent', 'own', 'subtree', 'held', 'unpriced', 'key')
    if not row[1] then refuse('notfound', 'session ' .. sid) end
    a = { id = sid, parent = row[1], own = row[2], subtree = row[3], held = row[4], unpriced = tonumber(row[5]), key = row[6], was = row[3] }
    plan.known[key], plan.accounts[#plan.accounts + 1] = a, a
    return a
  end

  -- spending is what a scope has settled and holds.
  local function spending(plan, name)
    local key = P .. 'spend:' .. name
    local s = plan.known[key]
    if s then return s end
    local row = call('HMGET', key, 'settled', 'held', 'doubt', 'till')
    s = { key = key, settled = row[1] or '0', held = row[2] or '0', doubt = row[3] or '0', till = row[4] or '' }
    s.was = s.settled
    plan.known[key], plan.spent[#plan.spent + 1] = s, s
    return s
  end

  -- doubtful is what a scope over all time holds for interrupted calls on a day.
  -- Names of days sort as the days do, and '' comes before all.
  local function doubtful(s, day) return day <= s.till and s.doubt or '0' end

  -- count adds a change to a scope { name, limit, forever }, the nth of its call.
  local function count(plan, scope, change, day, nth)
    local s = spending(plan, scope[1])
    local before = add(s.settled, s.held, doubtful(s, day))
    local doubt = scope[3] and change.doubt or '0' -- a window that ends holds it to its own end
    s.settled = add(s.settled, change.settled)
    s.held = add(s.held, change.held, change.doubt, money.negative(doubt))
    if doubt ~= '0' then
      s.doubt = add(doubtful(s, day), doubt)
      if s.till < day then s.till = day end
    end
    local sum = add(s.settled, s.held, doubtful(s, day))
    if not REPLAY and scope[2] ~= '0' and (change.unbound or money.less(scope[2], sum)) then
      refuse('budget', '', { int(nth), before })
    end
    return s
  end

  -- reckon adds a change to a session, its ancestors, the day of its tree and to
  -- scopes. change.from is the day of the reservation; the change is made at a
  -- time on a day. The fact of a reservation is not refused when it is applied
  -- again: its order among others may be another now, and it may have been granted.
  function spend.reckon(plan, sid, scopes, change, at, day)
    local keep = add(change.held, change.doubt)
    local up = sid
    repeat
      local a = account(plan, up)
      if up == sid then a.own = add(a.own, change.settled) end
      a.subtree, a.held = add(a.subtree, change.settled), add(a.held, keep)
      a.unpriced, a.at = a.unpriced + change.unpriced, math.max(a.at or at, at)
      up = a.parent
      if up == '' then
        local s = count(plan, { id('tree', a.id, change.from), '0' }, change, day, 0)
        s.root, s.day = a.id, change.from
      end
    until up == ''
    for i, scope in ipairs(scopes) do count(plan, scope, change, day, i - 1) end
  end

  -- rank moves what is sorted by amount.
  local function rank(key, was, now, name)
    if was == now then return end
    call('ZREM', key, money.sortable(was) .. name)
    call('ZADD', key, 0, money.sortable(now) .. name)
  end

  -- save writes the sums.
  function spend.save(plan)
    for _, a in ipairs(plan.accounts) do
      call('HSET', P .. 'sess:' .. a.id, 'own', a.own, 'subtree', a.subtree, 'held', a.held, 'unpriced', int(a.unpriced))
      session.changed(a.id, a.at)
      if a.parent == '' then rank(P .. 'dear', a.was, a.subtree, a.id) end
    end
    for _, s in ipairs(plan.spent) do
      call('HSET', s.key, 'settled', s.settled, 'held', s.held)
      if s.till ~= '' then call('HSET', s.key, 'doubt', s.doubt, 'till', s.till) end
      if s.root then rank(P .. 'dearest:' .. s.day, s.was, s.settled, s.root) end
    end
  end
end

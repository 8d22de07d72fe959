-- The calls that cost, from their reservation to the ledger:
--
--   local plan = spend.plan()
--   charge.book(plan, settlement)
--   charge.interrupt(plan, token, turn, now)
--   … whatever else may be refused …
--   charge.save(plan)
--
-- Nothing is written before save, which cannot be refused.
--
--   call:<id>           a reservation, until it is settled
--   calls:<token>       those of a mailbox that nobody settled yet
--   holds:<session>     those of a session that hold something, settled or not
--   ledger              a stream of entries, numbered in the order of booking
--   booked              the number of each entry, by its id
--   entries:<session>   the numbers of a session's entries
--   used                what usage sums up of each entry, by its time
--   prices, priceno     the prices that entries were booked with, each once
--   total:amount, total:calls, total:unknown   sums by labels
local charge = {}
do
  -- total is what was spent under a label set.
  local function total(plan, labels)
    local key = 'total ' .. labels
    local t = plan.known[key]
    if t then return t end
    t = { labels = labels, amount = call('HGET', P .. 'total:amount', labels) or '0', calls = 0, unknown = 0 }
    plan.known[key], plan.totals[#plan.totals + 1] = t, t
    return t
  end

  -- isKnown says whether a call was reserved, or is booked already.
  function charge.isKnown(cid)
    return call('EXISTS', P .. 'call:' .. cid) == 1 or call('HEXISTS', P .. 'booked', cid) == 1
  end

  -- entry is number no of the ledger: id, session, turn, at, price, entry.
  function charge.entry(no)
    local e = {}
    for i, v in ipairs(call('XRANGE', P .. 'ledger', '0-' .. no, '0-' .. no)[1][2]) do
      if i % 2 == 0 then e[i / 2] = v end
    end
    return e
  end

  -- book settles a call, once for each id, and returns the turn that it was made
  -- for. s is a settlement, as Go writes it.
  function charge.book(plan, s)
    local no = call('HGET', P .. 'booked', s.id)
    if no then return charge.entry(no)[3] end
    local row = call('HMGET', P .. 'call:' .. s.id, 'session', 'turn', 'held', 'day', 'scopes', 'token', 'state')
    if row[7] ~= 'open' then refuse('notfound', 'reservation ' .. s.id) end
    local scopes = cjson.decode(row[5])
    for _, scope in ipairs(scopes) do scope[2] = '0' end -- a cost is a fact
    spend.reckon(plan, row[1], scopes, {
      settled = s.amount, held = money.negative(row[3]), doubt = s.keep, unpriced = s.unpriced, from = row[4],
    }, s.at, s.day)
    local t = total(plan, s.labels)
    t.amount, t.calls, t.unknown = spend.add(t.amount, s.amount), t.calls + 1, t.unknown + s.unpriced
    plan.entries[#plan.entries + 1] = { s = s, session = row[1], turn = row[2], token = row[6] }
    plan.ended[s.id] = true
    return row[2]
  end

  -- interrupt books what is still open of a mailbox at nothing, because nobody
  -- knows whether the request left; what it may have cost stays held. tid is nil,
  -- or the turn whose calls of the loop are meant alone. now is { at, day, order }.
  function charge.interrupt(plan, token, tid, now)
    local open = {}
    for _, cid in ipairs(call('SMEMBERS', P .. 'calls:' .. token)) do
      local row = call('HMGET', P .. 'call:' .. cid, 'turn', 'purpose', 'at', 'step', 'dangling')
      if not plan.ended[cid] and (not tid or row[1] == tid and turn.ofLoop(row[2])) then
        open[#open + 1] = { id = cid, at = tonumber(row[3]), step = tonumber(row[4]), s = row[5] }
      end
    end
    table.sort(open, function(a, b)
      if a.at ~= b.at then return a.at < b.at end
      if a.step ~= b.step then return a.step < b.step end
      return a.id < b.id
    end)
    for _, c in ipairs(open) do
      local s = cjson.decode(c.s)
      s.at, s.day, s.order = now.at, now.day, now.order
      charge.book(plan, s)
    end
  end

  -- hold reckons what the call r may cost.
  function charge.hold(plan, r)
    spend.reckon(plan, r.session, r.scopes, {
      settled = '0', held = r.upper, doubt = '0', unpriced = 0, unbound = r.unbound, from = r.day,
    }, r.at, r.day)
  end

  -- reserve writes down the call r of a mailbox and what it holds.
  function charge.reserve(plan, token, r)
    spend.save(plan)
    store(P .. 'call:' .. r.id, {
      token = token, session = r.session, turn = r.turn, state = 'open', held = r.upper, day = r.day, at = r.at,
      step = r.step, purpose = r.purpose, scopes = cjson.encode(r.scopes), dangling = r.dangling,
    })
    call('SADD', P .. 'calls:' .. token, r.id)
    call('SADD', P .. 'holds:' .. r.session, r.id)
    local t = turn.load(r.turn)
    if t and turn.ofLoop(r.purpose) and t.steps + 1 == r.step and t.tries < r.attempt then
      t.tries = r.attempt
      turn.save(t)
    end
  end

  -- priceNumber is where the copy of a price stands; '': none was known.
  local function priceNumber(body)
    if body == '' then return '' end
    local no = call('HGET', P .. 'priceno', body)
    if no then return no end
    no = int(call('RPUSH', P .. 'prices', body) - 1)
    call('HSET', P .. 'priceno', body, no)
    return no
  end

  -- agentOf is the agent's name in a session's key: agent:<name>:sub:… or <name>:…;
  -- no agent is called agent.
  local function agentOf(key) return string.match(key, '^agent:([^:]*)') or string.match(key, '^[^:]*') end

  local function append(plan, e)
    local s = e.s
    local row = call('XADD', P .. 'ledger', '0-*', 'id', s.id, 'session', e.session, 'turn', e.turn,
      'at', int(s.at), 'price', priceNumber(s.price), 'entry', s.entry)
    local no = string.sub(row, 3)
    call('HSET', P .. 'booked', s.id, no)
    call('RPUSH', P .. 'entries:' .. e.session, no)
    s.columns[#s.columns + 1] = e.session
    s.columns[#s.columns + 1] = agentOf(plan.known[P .. 'sess:' .. e.session].key)
    call('ZADD', P .. 'used', 0, s.order .. no .. ':' .. cjson.encode(s.columns))
    call('SREM', P .. 'calls:' .. e.token, s.id)
    if s.keep == '0' then
      call('DEL', P .. 'call:' .. s.id)
      call('SREM', P .. 'holds:' .. e.session, s.id)
      return
    end
    call('HSET', P .. 'call:' .. s.id, 'state', 'interrupted', 'held', s.keep)
    call('HDEL', P .. 'call:' .. s.id, 'scopes', 'dangling')
  end

  -- save writes what was reckoned.
  function charge.save(plan)
    spend.save(plan)
    for _, t in ipairs(plan.totals) do
      call('HSET', P .. 'total:amount', t.labels, t.amount)
      call('HINCRBY', P .. 'total:calls', t.labels, t.calls)
      call('HINCRBY', P .. 'total:unknown', t.labels, t.unknown)
    end
    for _, e in ipairs(plan.entries) do append(plan, e) end
  end
end

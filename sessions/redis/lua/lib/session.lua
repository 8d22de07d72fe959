-- Sessions: sess:<id>. ids: all of them, by id. roots: those without a parent, by
-- when they changed last; dear: these by what their trees cost. kids:<id>: children,
-- oldest first. child:<token>: the child that a mailbox token belongs to.
local session = {}

-- make makes a session; token is the mailbox token of a child.
function session.make(s, token)
  store(P .. 'sess:' .. s.id, {
    id = s.id, key = s.key, token = token, parent = s.parent or '', root = s.root, depth = s.depth or 0,
    tool_call = s.tool_call or '', role = s.role, policy = s.policy or '', title = s.title or '',
    messages = 0, own = 0, subtree = 0, held = 0, unpriced = 0, created = s.created, updated = s.created,
  })
  call('ZADD', P .. 'ids', 0, s.id)
  if (s.parent or '') == '' then
    call('ZADD', P .. 'roots', s.created, s.id)
    call('ZADD', P .. 'dear', 0, string.rep('0', 19) .. s.id)
  else
    call('RPUSH', P .. 'kids:' .. s.parent, s.id)
    call('SET', P .. 'child:' .. token, s.id)
  end
end

-- changed notes that a session changed at a time.
function session.changed(sid, at)
  local key = P .. 'sess:' .. sid
  local row = call('HMGET', key, 'updated', 'parent')
  if at <= tonumber(row[1]) then return end
  call('HSET', key, 'updated', int(at))
  if row[2] == '' then call('ZADD', P .. 'roots', at, sid) end
end

-- descends refuses unless sid stands somewhere below ancestor.
function session.descends(sid, ancestor)
  local at = sid
  while at ~= '' do
    local parent = call('HGET', P .. 'sess:' .. at, 'parent')
    if not parent then refuse('notfound', 'session ' .. at) end
    if parent == ancestor then return end
    at = parent
  end
  refuse('notfound', 'session ' .. sid .. ' is no descendant of ' .. ancestor)
end

-- append adds messages that the session does not have yet: msgs:<id>, in order,
-- and msgids:<id>.
function session.append(sid, messages, now)
  local added = 0
  for _, m in ipairs(messages) do
    if call('SADD', P .. 'msgids:' .. sid, m.id) == 1 then
      call('RPUSH', P .. 'msgs:' .. sid, m.body)
      added = added + 1
    end
  end
  if added > 0 then
    call('HINCRBY', P .. 'sess:' .. sid, 'messages', added)
    session.changed(sid, now)
  end
end

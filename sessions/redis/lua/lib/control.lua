-- Control requests: control:<id>, also when they are done. controls: those that
-- are not; controls:<token>: a mailbox's; shutting:<chat>: those of a Shut. All in
-- the order they came.
local control = {}

-- make stores a request, and counts it in the mailbox b, which the caller saves.
-- It returns false when there is one of this id.
function control.make(b, c, chat)
  local key = P .. 'control:' .. c.id
  if call('EXISTS', key) == 1 then return false end
  c.no, c.chat = call('HINCRBY', P .. 'meta', 'controls', 1), chat or ''
  store(key, c)
  call('ZADD', P .. 'controls', c.no, c.id)
  call('ZADD', P .. 'controls:' .. c.token, c.no, c.id)
  if chat then call('ZADD', P .. 'shutting:' .. chat, c.no, c.id) end
  if not box.owed(b) then b.waiting = c.at end
  b.controls = b.controls + 1
  return true
end

-- done ends one of the mailbox b, which the caller saves.
function control.done(b, cid)
  if call('ZREM', P .. 'controls:' .. b.token, cid) == 0 then return end
  call('ZREM', P .. 'controls', cid)
  call('ZREM', P .. 'shutting:' .. call('HGET', P .. 'control:' .. cid, 'chat'), cid)
  b.controls = b.controls - 1
end

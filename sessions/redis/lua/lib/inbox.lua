-- Events of networks: inbox:<chat>, what each of its events became. The event that
-- is all empty is none.
local inbox = {}

local function inboxKey(e) return P .. 'inbox:' .. id(e.channel, e.account, e.chat) end

local function inboxNone(e) return e.channel == '' and e.account == '' and e.chat == '' and e.event == '' end

-- row says what an event became under a fence.
function inbox.row(token, turn, seq, f) return id(token, turn, int(seq), int(f.epoch), f.nonce) end

-- get is the row of an event, or nil.
function inbox.get(e)
  if inboxNone(e) then return nil end
  return call('HGET', inboxKey(e), e.event) or nil
end

function inbox.note(e, row)
  if not inboxNone(e) then call('HSETNX', inboxKey(e), e.event, row) end
end

local function wordsKey(w) return P .. 'words:' .. id(w.channel, w.account, w.chat) end

-- word notes what messages say now; said is what one said last, or nil.
function inbox.word(words)
  for _, w in ipairs(words) do call('HSET', wordsKey(w), w.message, w.sum) end
end

function inbox.said(w) return call('HGET', wordsKey(w), w.message) or nil end

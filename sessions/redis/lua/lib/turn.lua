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

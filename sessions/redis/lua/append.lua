-- uses: turn
local t = turn.open(R.fence, R.turn)
session.append(t.session, R.messages, R.now)

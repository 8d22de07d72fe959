-- uses: inbox control
if inbox.get(R.event) then return { 0 } end
local c = R.control
local b = box.find(c.token, c.key, R.origin, R.session, c.at)
inbox.note(R.event, inbox.row(c.token, '', 0, { epoch = 0, nonce = '' }))
if not control.make(b, c) then return { 0 } end
box.save(b)
return { 1 }

-- uses: inbox outbox
if inbox.get(R.event) then return { 0 } end
inbox.note(R.event, inbox.row('', '', 0, { epoch = 0, nonce = '' }))
outbox.queue(R.replies)
return { 1 }

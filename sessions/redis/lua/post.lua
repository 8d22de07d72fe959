-- uses: turn outbox
turn.open(R.fence, R.turn)
outbox.queue(R.replies)

-- uses: outbox
return outbox.answer(R.id)

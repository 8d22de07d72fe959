-- uses: chat
return chat.answer(chat.load(R.channel, R.account, R.peer))

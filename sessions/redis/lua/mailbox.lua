local b = box.load(R.token)
if not b then refuse('notfound') end
return box.answer(b)

box.skip(box.owned(R.fence), R.seq)

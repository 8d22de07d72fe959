package erasure

// AskRoots sets how many sessions the store is asked for at first.
func (d *Desk) AskRoots(n int) { d.roots = n }

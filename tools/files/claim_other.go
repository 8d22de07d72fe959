//go:build !linux

package files

// claim gives temp the target's name, unless something has that name already, which
// somebody else may give in this very moment: then it is fs.ErrExist, and nothing
// has changed.
func (t target) claim(temp string) error { return t.claimByLink(temp) }

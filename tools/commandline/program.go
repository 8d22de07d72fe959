package commandline

import "errors"

// errChanged is a program that is not what it was.
var errChanged = errors.New("the program has changed since this tool was set up, and does not run before its operator has reloaded the configuration")

// verify reports whether the program has the content that it had when its tool was made.
func (t *Tool) verify() error {
	sum, err := t.spec.Program.Sum()
	if err != nil || sum != t.sum {
		return errChanged
	}
	return nil
}

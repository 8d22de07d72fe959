package try

// Settled returns o such that each message is shown once, as it is in the end.
func Settled(o Options) Options {
	o.settled = true
	return o
}

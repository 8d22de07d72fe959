package sqlite

// checkLog is filled in below.
func checkLog(path string) error { return nil }

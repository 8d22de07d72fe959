package attachments

// Object is the name of a file in the log.
func Object(f File) string { return f.object() }

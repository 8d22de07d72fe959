package prices

// Look is one look of Watch, which must not run then.
func (t *Table) Look() { t.reread() }

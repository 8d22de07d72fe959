package sqlite

// Work is how many statements the writer of a closed store has run, and how
// many transactions it committed.
func (s *Store) Work() (statements, commits int64) {
	<-s.w.done
	return s.w.tx.conn.ran, s.w.tx.commits
}

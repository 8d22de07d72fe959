package sqlite

import "strings"

// behind are the names of columns, each behind what stands before it.
func behind(before, names string) string {
	return before + strings.ReplaceAll(names, ", ", ", "+before)
}

// insertOf is the statement that inserts a row.
func insertOf(table, names string) string {
	return "INSERT INTO " + table + " (" + names + ") VALUES (?" + strings.Repeat(", ?", strings.Count(names, ",")) + ")"
}

// updateOf is the statement that writes columns of the row that a key names.
func updateOf(table, names, key string) string {
	return "UPDATE " + table + " SET " + strings.ReplaceAll(names, ",", " = ?,") + " = ? WHERE " + key + " = ?"
}

// orElseUpdate is what an insertion does when there is a row.
func orElseUpdate(names string) string {
	sets := strings.Split(names, ", ")
	for i, name := range sets {
		sets[i] = name + " = excluded." + name
	}
	return " ON CONFLICT DO UPDATE SET " + strings.Join(sets, ", ")
}

// between are the columns of a list from one, counted from 0, up to another.
func between(names string, from, to int) string {
	return strings.Join(strings.Split(names, ", ")[from:to], ", ")
}

func from(names string, n int) string { return between(names, n, strings.Count(names, ",")+1) }

package sqlite_test

import (
	"database/sql"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite schema.sql")

// TestAFreshDatabaseIsWhatTheMigrationsMake compares one that a program of today makes with
// one that lived through all versions. After a new migration -update writes schema.sql.
func TestAFreshDatabaseIsWhatTheMigrationsMake(t *testing.T) {
	t.Parallel()
	steps, err := filepath.Glob("migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	want := script(t, written(t, len(steps)))
	if *update {
		text := "-- All migrations in one. Written by go test -run TestAFreshDatabase -update.\n" + want
		if err := os.WriteFile("schema.sql", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return // this binary has the one before in it
	}
	path := filepath.Join(t.TempDir(), "parley.db")
	if err := openAt(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(want, "\n"), strings.Split(script(t, path), "\n")); d != "" {
		t.Errorf("by all migrations (-), and fresh (+); see -update:\n%s", d)
	}
}

// script is a database as the statements that make it again, with its rows, and without
// the times at which it became what it is.
func script(t *testing.T, path string) string {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	column := func(query string, args ...any) (all []string) {
		t.Helper()
		rows, err := db.QueryContext(t.Context(), query, args...)
		if err != nil {
			t.Fatalf("%v: %s", err, query)
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var s string
			if err := rows.Scan(&s); err != nil {
				t.Fatal(err)
			}
			all = append(all, s)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		return all
	}
	var b strings.Builder
	for _, pragma := range []string{"application_id", "user_version"} {
		fmt.Fprintf(&b, "PRAGMA %s = %s;\n", pragma, column("SELECT CAST(" + pragma + " AS TEXT) FROM pragma_" + pragma)[0])
	}
	for _, s := range column("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY rowid") {
		b.WriteString(s + ";\n")
	}
	for _, table := range column("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid") {
		values := strings.Join(column("SELECT iif(name = 'applied_at', '0', 'quote(' || name || ')') FROM pragma_table_info(?)", table), " || ', ' || ")
		for _, row := range column("SELECT " + values + " FROM " + table) {
			fmt.Fprintf(&b, "INSERT INTO %s VALUES (%s);\n", table, row)
		}
	}
	return b.String()
}

package sqlite

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"
)

// Each file is one step forward, named NNNN_what.sql, numbered from 1 without
// gaps. A step that was released is never changed.
//
//go:embed migrations/*.sql
var migrationFiles embed.FS

// schema makes of an empty database what the migrations make of it, in one script that
// takes a fraction of their time: each change of a table has SQLite read the whole schema
// again. It names its version, as the migrations do.
//
//go:embed schema.sql
var schema string

func migrations() ([]string, error) {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", err)
	}
	var steps []string
	for i, name := range names {
		no, err := strconv.Atoi(strings.TrimPrefix(name, "migrations/")[:4])
		if err != nil || no != i+1 {
			return nil, fmt.Errorf("migration %s is not number %d", name, i+1)
		}
		b, err := migrationFiles.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read migration: %w", err)
		}
		steps = append(steps, string(b))
	}
	return steps, nil
}

// migrate brings the database to this program's version, all steps in one
// transaction: it is of the old version or of the new, never between.
func migrate(ctx context.Context, conn *conn, path string, now time.Time) error {
	steps, err := migrations()
	if err != nil {
		return err
	}
	version, err := schemaVersion(ctx, conn)
	if err != nil {
		return readError(path, "read its version", err)
	}
	if version > len(steps) {
		return damaged(path, "its version is %d, and this program knows up to %d: run a newer program", version, len(steps))
	}
	if version == len(steps) {
		return nil
	}
	if err := conn.execScript(ctx, "BEGIN IMMEDIATE"); err != nil {
		return fmt.Errorf("begin to migrate: %w", explain(err))
	}
	if version == 0 {
		if version, err = create(ctx, conn, now); err != nil {
			_ = conn.execScript(always, "ROLLBACK") // as below
			return fmt.Errorf("create the tables: %w", explain(err))
		}
	}
	for i, step := range steps[version:] {
		if err := apply(ctx, conn, version+i+1, step, now); err != nil {
			_ = conn.execScript(always, "ROLLBACK") // nothing to roll back when it has ended by itself
			return fmt.Errorf("migrate to version %d: %w", version+i+1, explain(err))
		}
	}
	if err := conn.execScript(ctx, "COMMIT"); err != nil {
		_ = conn.execScript(always, "ROLLBACK")
		return fmt.Errorf("migrate to version %d: %w", len(steps), explain(err))
	}
	return nil
}

// schemaVersion is 0 for an empty database.
func schemaVersion(ctx context.Context, conn *conn) (int, error) {
	var tables, v int
	if _, err := conn.queryRow(ctx, "SELECT count(*) FROM sqlite_schema WHERE name = 'schema_version'", nil, &tables); err != nil || tables == 0 {
		return 0, err
	}
	_, err := conn.queryRow(ctx, "SELECT max(version) FROM schema_version", nil, &v)
	return v, err
}

// create makes the tables of an empty database, and returns their version.
func create(ctx context.Context, conn *conn, now time.Time) (version int, err error) {
	if err := conn.execScript(ctx, fmt.Sprintf("%s\nUPDATE schema_version SET applied_at = %d", schema, now.UnixMicro())); err != nil {
		return 0, err
	}
	return schemaVersion(ctx, conn)
}

func apply(ctx context.Context, conn *conn, version int, step string, now time.Time) error {
	return conn.execScript(ctx, fmt.Sprintf("%s\nINSERT INTO schema_version VALUES (%d, %d)", step, version, now.UnixMicro()))
}

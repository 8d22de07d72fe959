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

func apply(ctx context.Context, conn *conn, version int, step string, now time.Time) error {
	if version == 1 {
		step = fmt.Sprintf("PRAGMA application_id = %d;\nCREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_at INTEGER NOT NULL) STRICT;\n", application) + step
	}
	return conn.execScript(ctx, fmt.Sprintf("%s\nINSERT INTO schema_version VALUES (%d, %d)", step, version, now.UnixMicro()))
}

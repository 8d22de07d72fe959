-- Who made the last mark of a part.
ALTER TABLE outbox_parts ADD COLUMN by TEXT NOT NULL DEFAULT '';

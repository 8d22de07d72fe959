-- How often the database was probed, which only grows: a copy from before knows
-- less of it than others do. And up to which message of the log work may have been
-- done that it does not know of.
ALTER TABLE generation ADD COLUMN ticks INTEGER NOT NULL DEFAULT 0;
ALTER TABLE generation ADD COLUMN doubt INTEGER NOT NULL DEFAULT 0;
-- Answers that may have been given before.
ALTER TABLE outbox ADD COLUMN again INTEGER NOT NULL DEFAULT 0;

-- A file on its way out, as JSON; empty: the answer is a text.
ALTER TABLE outbox ADD COLUMN file TEXT NOT NULL DEFAULT '';

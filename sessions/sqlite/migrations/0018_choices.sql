-- The buttons under an answer, as JSON; empty: there are none.
ALTER TABLE outbox ADD COLUMN choices TEXT NOT NULL DEFAULT '';

-- What people ask: sessions by activity and cost, a session's turns, and what
-- was used since a time.

-- Of roots only. Cost and activity change together, so one index serves both.
CREATE INDEX sessions_lately ON sessions (updated_at, subtree) WHERE parent = '';
CREATE INDEX turns_session ON turns (session, channel);

-- The time and the tokens of an entry, which stand in its JSON too.
ALTER TABLE ledger ADD COLUMN at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ledger ADD COLUMN interrupted INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ledger ADD COLUMN input INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ledger ADD COLUMN cache_read INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ledger ADD COLUMN cache_write INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ledger ADD COLUMN output INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ledger ADD COLUMN reasoning INTEGER NOT NULL DEFAULT 0;

DROP TRIGGER ledger_update;
UPDATE ledger SET
  at          = CAST(round(unixepoch(json_extract(entry, '$.at'), 'subsec') * 1000) AS INTEGER) * 1000,
  interrupted = json_extract(entry, '$.state') IS 'interrupted',
  input       = coalesce(json_extract(entry, '$.usage.input'), 0),
  cache_read  = coalesce(json_extract(entry, '$.usage.cache_read'), 0),
  cache_write = coalesce(json_extract(entry, '$.usage.cache_write_5m'), 0) + coalesce(json_extract(entry, '$.usage.cache_write_1h'), 0),
  output      = coalesce(json_extract(entry, '$.usage.output'), 0),
  reasoning   = coalesce(json_extract(entry, '$.usage.reasoning'), 0);
CREATE TRIGGER ledger_update BEFORE UPDATE ON ledger BEGIN
  SELECT RAISE(ABORT, 'the ledger is append-only');
END;

CREATE INDEX ledger_at ON ledger (at);

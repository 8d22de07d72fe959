-- A chat that got another id. Each id has at most one before it and one after.
CREATE TABLE moves (
  channel TEXT    NOT NULL,
  account TEXT    NOT NULL,
  old     TEXT    NOT NULL,
  new     TEXT    NOT NULL,
  at      INTEGER NOT NULL,
  PRIMARY KEY (channel, account, old)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX moves_new ON moves (channel, account, new);

-- Chats that were closed to the bot, by the oldest id known then.
CREATE TABLE shut (
  channel   TEXT    NOT NULL,
  account   TEXT    NOT NULL,
  peer      TEXT    NOT NULL,
  cause     TEXT    NOT NULL, -- id of what showed it
  dropped   INTEGER NOT NULL,
  open      INTEGER NOT NULL DEFAULT 0, -- it was opened again
  opened_at INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (channel, account, peer)
) STRICT, WITHOUT ROWID;

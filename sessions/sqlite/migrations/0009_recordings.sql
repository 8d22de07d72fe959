-- What models were asked: each attempt of a call, and the parts of requests that
-- many have in common.
CREATE TABLE frames (
  id   INTEGER PRIMARY KEY,
  name TEXT    NOT NULL UNIQUE,
  body BLOB    NOT NULL
) STRICT;

CREATE TABLE asked (
  session    TEXT    NOT NULL REFERENCES sessions (id),
  no         INTEGER NOT NULL, -- from 1, in the order of reserving
  id         TEXT    NOT NULL, -- of the reservation
  turn       TEXT    NOT NULL,
  at         INTEGER NOT NULL,
  upper      INTEGER NOT NULL,
  frame      INTEGER NOT NULL REFERENCES frames (id),
  upto       INTEGER NOT NULL, -- how many messages of the history were sent
  tail       TEXT    NOT NULL, -- JSON: messages behind them that no history has
  max_tokens INTEGER NOT NULL,
  digest     TEXT    NOT NULL,
  PRIMARY KEY (session, no)
) STRICT, WITHOUT ROWID;

-- JSON: why the budgets ended the turn.
ALTER TABLE turns ADD COLUMN refused TEXT NOT NULL DEFAULT '';

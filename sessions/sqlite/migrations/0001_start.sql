-- Times are microseconds since 1970 in UTC; money is pico-dollars; addresses,
-- policies, parts and entries are JSON. Empty text means none.

-- One row: the log whose sequences the mailboxes count.
CREATE TABLE generation (
  one     INTEGER PRIMARY KEY CHECK (one = 1),
  name    TEXT    NOT NULL,
  lost    INTEGER NOT NULL, -- mailboxes that were owed messages when it began
  highest INTEGER NOT NULL  -- highest sequence touched in it
) STRICT;
INSERT INTO generation VALUES (1, '', 0, 0);

-- A worker that left or was replaced stays here as gone: it never comes back.
CREATE TABLE workers (
  name  TEXT    NOT NULL,
  nonce TEXT    NOT NULL,
  until INTEGER NOT NULL,
  gone  INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (name, nonce)
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
  id         TEXT    PRIMARY KEY,
  key        TEXT    NOT NULL,
  token      TEXT    NOT NULL, -- a child: its mailbox token; a root: empty
  parent     TEXT    NOT NULL,
  root       TEXT    NOT NULL,
  depth      INTEGER NOT NULL,
  tool_call  TEXT    NOT NULL,
  role       TEXT    NOT NULL,
  policy     BLOB,
  title      TEXT    NOT NULL,
  messages   INTEGER NOT NULL DEFAULT 0,
  own        INTEGER NOT NULL DEFAULT 0,
  subtree    INTEGER NOT NULL DEFAULT 0,
  held       INTEGER NOT NULL DEFAULT 0,
  unpriced   INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX sessions_parent ON sessions (parent) WHERE parent <> '';
CREATE UNIQUE INDEX sessions_token ON sessions (token) WHERE token <> '';

CREATE TABLE mailboxes (
  token       TEXT    PRIMARY KEY,
  key         TEXT    NOT NULL,
  session     TEXT    NOT NULL REFERENCES sessions (id),
  touched     INTEGER NOT NULL,
  read        INTEGER NOT NULL CHECK (read <= touched),
  owner_name  TEXT    NOT NULL DEFAULT '',
  owner_nonce TEXT    NOT NULL DEFAULT '',
  last_nonce  TEXT    NOT NULL DEFAULT '', -- who owned it last, so that giving up may be repeated
  epoch       INTEGER NOT NULL DEFAULT 0,
  prior       INTEGER NOT NULL DEFAULT 0,  -- the epoch it was reacquired from, else 0
  attempts    INTEGER NOT NULL DEFAULT 0,
  controls    INTEGER NOT NULL DEFAULT 0 CHECK (controls >= 0),
  turn        TEXT    NOT NULL DEFAULT '', -- the open turn
  waiting     INTEGER NOT NULL DEFAULT 0,  -- since when work is owed
  hot         INTEGER NOT NULL DEFAULT 0   -- it has an owner, or is owed work
) STRICT, WITHOUT ROWID;
CREATE INDEX mailboxes_hot ON mailboxes (owner_nonce, waiting) WHERE hot;

CREATE TABLE turns (
  id          TEXT    PRIMARY KEY,
  token       TEXT    NOT NULL,
  session     TEXT    NOT NULL REFERENCES sessions (id),
  nested      INTEGER NOT NULL, -- a child's turn inside its ancestor's owner
  seq         INTEGER NOT NULL,
  state       TEXT    NOT NULL,
  attempts    INTEGER NOT NULL,
  channel     TEXT    NOT NULL,
  origin      TEXT    NOT NULL,
  reply_to    TEXT    NOT NULL,
  sender      TEXT    NOT NULL,
  received_at INTEGER NOT NULL,
  opened_at   INTEGER NOT NULL,
  ended_at    INTEGER NOT NULL,
  outcome     TEXT    NOT NULL DEFAULT '',
  steps       INTEGER NOT NULL DEFAULT 0,
  tries       INTEGER NOT NULL DEFAULT 0,
  preview     TEXT    NOT NULL DEFAULT '',
  end_epoch   INTEGER NOT NULL DEFAULT 0, -- the fence that ended it, and what it was told
  end_nonce   TEXT    NOT NULL DEFAULT '',
  released    INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE TABLE begun (
  turn  TEXT    NOT NULL,
  step  INTEGER NOT NULL,
  call  TEXT    NOT NULL,
  epoch INTEGER NOT NULL,
  nonce TEXT    NOT NULL,
  PRIMARY KEY (turn, step, call)
) STRICT, WITHOUT ROWID;

-- What answered the event: a turn, a command under a fence, a control, a notice.
CREATE TABLE inbox (
  channel TEXT    NOT NULL,
  account TEXT    NOT NULL,
  chat    TEXT    NOT NULL,
  event   TEXT    NOT NULL,
  token   TEXT    NOT NULL,
  turn    TEXT    NOT NULL,
  seq     INTEGER NOT NULL,
  epoch   INTEGER NOT NULL,
  nonce   TEXT    NOT NULL,
  PRIMARY KEY (channel, account, chat, event)
) STRICT, WITHOUT ROWID;

CREATE TABLE messages (
  session    TEXT    NOT NULL REFERENCES sessions (id),
  seq        INTEGER NOT NULL, -- from 1, without gaps
  id         TEXT    NOT NULL,
  role       TEXT    NOT NULL,
  parts      BLOB    NOT NULL,
  model      TEXT    NOT NULL,
  native     BLOB,
  created_at INTEGER NOT NULL,
  sum        INTEGER NOT NULL, -- CRC-32C of id, role, parts and native
  PRIMARY KEY (session, seq)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX messages_id ON messages (session, id);

CREATE TABLE reservations (
  id      TEXT    PRIMARY KEY,
  token   TEXT    NOT NULL,
  session TEXT    NOT NULL REFERENCES sessions (id),
  turn    TEXT    NOT NULL,
  state   TEXT    NOT NULL, -- open, or interrupted: what is held waits to be reconciled
  held    INTEGER NOT NULL,
  day     TEXT    NOT NULL,
  scopes  TEXT    NOT NULL,
  body    TEXT    NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX reservations_open ON reservations (token, turn) WHERE state = 'open';

-- The prices that entries were booked with, each kept once. They are never
-- changed either.
CREATE TABLE prices (
  id   INTEGER PRIMARY KEY,
  body TEXT    NOT NULL UNIQUE
) STRICT;
CREATE TRIGGER prices_insert BEFORE INSERT ON prices WHEN EXISTS (SELECT 1 FROM prices WHERE id = NEW.id OR body = NEW.body) BEGIN
  SELECT RAISE(ABORT, 'prices are append-only');
END;
CREATE TRIGGER prices_update BEFORE UPDATE ON prices BEGIN
  SELECT RAISE(ABORT, 'prices are append-only');
END;
CREATE TRIGGER prices_delete BEFORE DELETE ON prices BEGIN
  SELECT RAISE(ABORT, 'prices are append-only');
END;

CREATE TABLE ledger (
  no       INTEGER PRIMARY KEY,
  id       TEXT    NOT NULL UNIQUE,
  session  TEXT    NOT NULL REFERENCES sessions (id),
  turn     TEXT    NOT NULL,
  provider TEXT    NOT NULL,
  model    TEXT    NOT NULL,
  channel  TEXT    NOT NULL,
  purpose  TEXT    NOT NULL,
  amount   INTEGER NOT NULL,
  priced   INTEGER NOT NULL,
  entry    TEXT    NOT NULL, -- without its price
  price    INTEGER REFERENCES prices (id) -- NULL: none was known
) STRICT;
CREATE INDEX ledger_session ON ledger (session, no);
-- INSERT OR REPLACE deletes without asking the trigger for deletions.
CREATE TRIGGER ledger_insert BEFORE INSERT ON ledger WHEN EXISTS (SELECT 1 FROM ledger WHERE id = NEW.id OR no = NEW.no) BEGIN
  SELECT RAISE(ABORT, 'the ledger is append-only');
END;
CREATE TRIGGER ledger_update BEFORE UPDATE ON ledger BEGIN
  SELECT RAISE(ABORT, 'the ledger is append-only');
END;
CREATE TRIGGER ledger_delete BEFORE DELETE ON ledger BEGIN
  SELECT RAISE(ABORT, 'the ledger is append-only');
END;

CREATE TABLE spend (
  kind    TEXT    NOT NULL,
  id      TEXT    NOT NULL,
  day     TEXT    NOT NULL, -- YYYY-MM-DD in UTC; empty: over all time
  settled INTEGER NOT NULL,
  held    INTEGER NOT NULL,
  PRIMARY KEY (kind, id, day)
) STRICT, WITHOUT ROWID;

CREATE TABLE totals (
  provider TEXT    NOT NULL,
  model    TEXT    NOT NULL,
  channel  TEXT    NOT NULL,
  purpose  TEXT    NOT NULL,
  amount   INTEGER NOT NULL,
  calls    INTEGER NOT NULL,
  unknown  INTEGER NOT NULL,
  PRIMARY KEY (provider, model, channel, purpose)
) STRICT, WITHOUT ROWID;

CREATE TABLE controls (
  no       INTEGER PRIMARY KEY AUTOINCREMENT,
  id       TEXT    NOT NULL UNIQUE,
  token    TEXT    NOT NULL,
  key      TEXT    NOT NULL,
  event    TEXT    NOT NULL,
  kind     TEXT    NOT NULL,
  through  INTEGER NOT NULL,
  channel  TEXT    NOT NULL,
  origin   TEXT    NOT NULL,
  reply_to TEXT    NOT NULL,
  sender   TEXT    NOT NULL,
  at       INTEGER NOT NULL,
  done     INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX controls_pending ON controls (token, no) WHERE done = 0;

CREATE TABLE outbox (
  no       INTEGER PRIMARY KEY,
  id       TEXT    NOT NULL UNIQUE,
  channel  TEXT    NOT NULL,
  session  TEXT    NOT NULL,
  turn     TEXT    NOT NULL,
  target   TEXT    NOT NULL,
  reply_to TEXT    NOT NULL,
  body     TEXT    NOT NULL,
  at       INTEGER NOT NULL,
  done     INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX outbox_pending ON outbox (channel, no) WHERE done = 0;

CREATE TABLE outbox_parts (
  outbox     INTEGER NOT NULL REFERENCES outbox (no),
  idx        INTEGER NOT NULL,
  body       BLOB    NOT NULL,
  state      TEXT    NOT NULL,
  attempts   INTEGER NOT NULL DEFAULT 0,
  message_id TEXT    NOT NULL DEFAULT '',
  problem    TEXT    NOT NULL DEFAULT '',
  at         INTEGER NOT NULL,
  PRIMARY KEY (outbox, idx)
) STRICT, WITHOUT ROWID;

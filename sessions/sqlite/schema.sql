-- All migrations in one. Written by go test -run TestAFreshDatabase -update.
PRAGMA application_id = 1886547065;
PRAGMA user_version = 0;
CREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_at INTEGER NOT NULL) STRICT;
CREATE TABLE generation (
  one     INTEGER PRIMARY KEY CHECK (one = 1),
  name    TEXT    NOT NULL,
  lost    INTEGER NOT NULL, -- mailboxes that were owed messages when it began
  highest INTEGER NOT NULL  -- highest sequence touched in it
, ticks INTEGER NOT NULL DEFAULT 0, doubt INTEGER NOT NULL DEFAULT 0, commits INTEGER NOT NULL DEFAULT 0) STRICT;
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
, refused TEXT NOT NULL DEFAULT '', joined TEXT NOT NULL DEFAULT '', preview_state TEXT NOT NULL DEFAULT '') STRICT, WITHOUT ROWID;
CREATE TABLE begun (
  turn  TEXT    NOT NULL,
  step  INTEGER NOT NULL,
  call  TEXT    NOT NULL,
  epoch INTEGER NOT NULL,
  nonce TEXT    NOT NULL,
  PRIMARY KEY (turn, step, call)
) STRICT, WITHOUT ROWID;
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
, at INTEGER NOT NULL DEFAULT 0, interrupted INTEGER NOT NULL DEFAULT 0, input INTEGER NOT NULL DEFAULT 0, cache_read INTEGER NOT NULL DEFAULT 0, cache_write INTEGER NOT NULL DEFAULT 0, output INTEGER NOT NULL DEFAULT 0, reasoning INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE INDEX ledger_session ON ledger (session, no);
CREATE TRIGGER ledger_insert BEFORE INSERT ON ledger WHEN EXISTS (SELECT 1 FROM ledger WHERE id = NEW.id OR no = NEW.no) BEGIN
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
  held    INTEGER NOT NULL, doubt INTEGER NOT NULL DEFAULT 0, doubt_until TEXT NOT NULL DEFAULT '',
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
, again INTEGER NOT NULL DEFAULT 0, file TEXT NOT NULL DEFAULT '', choices TEXT NOT NULL DEFAULT '') STRICT;
CREATE INDEX outbox_pending ON outbox (channel, no) WHERE done = 0;
CREATE TABLE outbox_parts (
  outbox     INTEGER NOT NULL REFERENCES outbox (no),
  idx        INTEGER NOT NULL,
  body       BLOB    NOT NULL,
  state      TEXT    NOT NULL,
  attempts   INTEGER NOT NULL DEFAULT 0,
  message_id TEXT    NOT NULL DEFAULT '',
  problem    TEXT    NOT NULL DEFAULT '',
  at         INTEGER NOT NULL, by TEXT NOT NULL DEFAULT '', repeats INTEGER NOT NULL DEFAULT 0, reason TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (outbox, idx)
) STRICT, WITHOUT ROWID;
CREATE INDEX turns_recent ON turns (opened_at) WHERE nested = 0;
CREATE INDEX spend_dearest ON spend (day, settled) WHERE kind = 'tree';
CREATE INDEX sessions_lately ON sessions (updated_at, subtree) WHERE parent = '';
CREATE INDEX turns_session ON turns (session, channel);
CREATE TRIGGER ledger_update BEFORE UPDATE ON ledger BEGIN
  SELECT RAISE(ABORT, 'the ledger is append-only');
END;
CREATE INDEX ledger_at ON ledger (at);
CREATE TABLE wordings (
  channel TEXT NOT NULL,
  account TEXT NOT NULL,
  chat    TEXT NOT NULL,
  message TEXT NOT NULL,
  sum     TEXT NOT NULL,
  PRIMARY KEY (channel, account, chat, message)
) STRICT, WITHOUT ROWID;
CREATE INDEX turns_nested ON turns (token) WHERE nested = 1 AND state = 'open';
CREATE TABLE moves (
  channel TEXT    NOT NULL,
  account TEXT    NOT NULL,
  old     TEXT    NOT NULL,
  new     TEXT    NOT NULL,
  at      INTEGER NOT NULL,
  PRIMARY KEY (channel, account, old)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX moves_new ON moves (channel, account, new);
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
CREATE TABLE records (
	kind     TEXT    NOT NULL,
	key      TEXT    NOT NULL,
	revision INTEGER NOT NULL,
	owner    TEXT    NOT NULL,
	body     BLOB    NOT NULL,
	expires  INTEGER NOT NULL, -- 0: never
	at       INTEGER NOT NULL,
	PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX records_expire ON records (kind, expires) WHERE expires > 0;
INSERT INTO schema_version VALUES (1, 0);
INSERT INTO schema_version VALUES (2, 0);
INSERT INTO schema_version VALUES (3, 0);
INSERT INTO schema_version VALUES (4, 0);
INSERT INTO schema_version VALUES (5, 0);
INSERT INTO schema_version VALUES (6, 0);
INSERT INTO schema_version VALUES (7, 0);
INSERT INTO schema_version VALUES (8, 0);
INSERT INTO schema_version VALUES (9, 0);
INSERT INTO schema_version VALUES (10, 0);
INSERT INTO schema_version VALUES (11, 0);
INSERT INTO schema_version VALUES (12, 0);
INSERT INTO schema_version VALUES (13, 0);
INSERT INTO schema_version VALUES (14, 0);
INSERT INTO schema_version VALUES (15, 0);
INSERT INTO schema_version VALUES (16, 0);
INSERT INTO schema_version VALUES (17, 0);
INSERT INTO schema_version VALUES (18, 0);
INSERT INTO generation VALUES (1, '', 0, 0, 0, 0, 0);

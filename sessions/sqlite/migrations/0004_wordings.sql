-- What messages of a network said when they were last taken into a turn, to know
-- an edit that changes nothing.
CREATE TABLE wordings (
  channel TEXT NOT NULL,
  account TEXT NOT NULL,
  chat    TEXT NOT NULL,
  message TEXT NOT NULL,
  sum     TEXT NOT NULL,
  PRIMARY KEY (channel, account, chat, message)
) STRICT, WITHOUT ROWID;

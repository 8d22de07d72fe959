-- Small documents, by their kind and key.
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

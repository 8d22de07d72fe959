-- What the end of a turn closes with it.
CREATE INDEX turns_nested ON turns (token) WHERE nested = 1 AND state = 'open';

-- What an operator looks at, without reading every session.
CREATE INDEX turns_recent ON turns (opened_at) WHERE nested = 0;

-- What a root session and its descendants spent, by the day.
INSERT INTO spend (kind, id, day, settled, held)
  SELECT 'tree', s.root, x.day, sum(x.settled), sum(x.held) FROM (
    SELECT session, substr(entry ->> 'at', 1, 10) AS day, amount AS settled, 0 AS held FROM ledger
    UNION ALL SELECT session, day, 0, held FROM reservations
  ) AS x JOIN sessions AS s ON s.id = x.session GROUP BY s.root, x.day;
CREATE INDEX spend_dearest ON spend (day, settled) WHERE kind = 'tree';

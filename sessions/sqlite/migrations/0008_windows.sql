-- Months, channels and groups were not counted from the beginning, and 0002 took
-- the days of trees from texts in local time. All are derived from what is exact:
-- the days of everything, and the ledger.

-- A call that is open will be taken out of all that it now is counted in.
UPDATE reservations SET scopes = json_insert(scopes, '$[#]', json('{"Kind":"global","ID":"","Window":"month","Limit":0}'))
  WHERE state = 'open'
    AND EXISTS (SELECT 1 FROM json_each(scopes) WHERE value ->> 'Kind' = 'global' AND coalesce(value ->> 'Window', '') = '')
    AND NOT EXISTS (SELECT 1 FROM json_each(scopes) WHERE value ->> 'Kind' = 'global' AND value ->> 'Window' = 'month');
UPDATE reservations SET scopes = json_insert(scopes, '$[#]',
    json_object('Kind', 'channel', 'ID', body ->> '$.estimate.labels.channel', 'Window', '', 'Limit', 0))
  WHERE state = 'open' AND NOT EXISTS (SELECT 1 FROM json_each(scopes) WHERE value ->> 'Kind' = 'channel');
UPDATE reservations SET scopes = json_insert(scopes, '$[#]', (
    SELECT json_object('Kind', 'group', 'ID', json_array(origin ->> 'channel', origin ->> 'account', origin ->> 'peer') || '', 'Window', '', 'Limit', 0)
    FROM turns WHERE turns.id = reservations.turn))
  WHERE state = 'open'
    AND EXISTS (SELECT 1 FROM turns WHERE turns.id = reservations.turn AND origin ->> 'kind' <> 'dm')
    AND NOT EXISTS (SELECT 1 FROM json_each(scopes) WHERE value ->> 'Kind' = 'group');

CREATE TEMP TABLE moved AS
  SELECT session, turn, channel, date(at / 1000000, 'unixepoch') AS day, amount AS settled, 0 AS held FROM ledger
  UNION ALL SELECT session, turn, body ->> '$.estimate.labels.channel', day, 0, held FROM reservations;

INSERT INTO spend (kind, id, day, settled, held)
  SELECT 'global', '', substr(day, 1, 7), sum(settled), sum(held) FROM spend
  WHERE kind = 'global' AND length(day) = 10 GROUP BY substr(day, 1, 7)
  ON CONFLICT DO UPDATE SET settled = excluded.settled, held = excluded.held;
INSERT INTO spend (kind, id, day, settled, held)
  SELECT 'channel', channel, day, sum(settled), sum(held) FROM moved WHERE true GROUP BY channel, day
  ON CONFLICT DO UPDATE SET settled = excluded.settled, held = excluded.held;
INSERT INTO spend (kind, id, day, settled, held)
  SELECT 'group', json_array(t.origin ->> 'channel', t.origin ->> 'account', t.origin ->> 'peer'), m.day, sum(m.settled), sum(m.held)
  FROM moved AS m JOIN turns AS t ON t.id = m.turn WHERE t.origin ->> 'kind' <> 'dm' GROUP BY 2, m.day
  ON CONFLICT DO UPDATE SET settled = excluded.settled, held = excluded.held;

DELETE FROM spend WHERE kind = 'tree';
INSERT INTO spend (kind, id, day, settled, held)
  SELECT 'tree', s.root, m.day, sum(m.settled), sum(m.held)
  FROM moved AS m JOIN sessions AS s ON s.id = m.session GROUP BY s.root, m.day;
DROP TABLE moved;

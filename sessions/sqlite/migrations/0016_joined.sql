-- Which messages of the mailbox joined a turn, as JSON; empty: none. They are those
-- whose events say that they became this turn, but for what opened it.
ALTER TABLE turns ADD COLUMN joined TEXT NOT NULL DEFAULT '';

CREATE TEMP TABLE joining AS
  SELECT turn, json_group_array(seq) AS joined FROM (
    SELECT DISTINCT i.turn AS turn, i.seq AS seq FROM inbox AS i JOIN turns AS t ON t.id = i.turn
    WHERE i.turn <> '' AND i.seq <> t.seq ORDER BY i.turn, i.seq
  ) GROUP BY turn;
UPDATE turns SET joined = joining.joined FROM joining WHERE joining.turn = turns.id;
DROP TABLE joining;

-- What is known of the message that shows a turn's answer so far: nothing, begun or
-- shown. A "?" in place of its id stood for begun.
ALTER TABLE turns ADD COLUMN preview_state TEXT NOT NULL DEFAULT '';
UPDATE turns SET preview_state = 'begun', preview = '' WHERE preview = '?';
UPDATE turns SET preview_state = 'shown' WHERE preview <> '';

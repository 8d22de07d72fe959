-- How often a part was sent although the one before may have arrived, and why it
-- failed as people are told. Both stood in the problem, as texts.
ALTER TABLE outbox_parts ADD COLUMN repeats INTEGER NOT NULL DEFAULT 0;
ALTER TABLE outbox_parts ADD COLUMN reason TEXT NOT NULL DEFAULT '';

-- CAST reads the number that a text begins with.
UPDATE outbox_parts SET repeats = CAST(substr(problem, length('repeat ') + 1) AS INTEGER), problem = ''
  WHERE problem GLOB 'repeat [0-9]*: the one before may have arrived';
UPDATE outbox_parts SET repeats = CAST(substr(problem, length('sent ') + 1) AS INTEGER) - 1, reason = 'unconfirmed'
  WHERE state = 'failed' AND problem GLOB 'sent [0-9]* times, and not once is it known to have arrived: *';
UPDATE outbox_parts SET reason = 'no_files' WHERE state = 'failed' AND problem GLOB 'files cannot be sent from here to this chat: *';
UPDATE outbox_parts SET reason = 'file_gone' WHERE state = 'failed' AND problem GLOB 'it is not kept any more: *';
UPDATE outbox_parts SET reason = 'file_changed' WHERE state = 'failed' AND problem GLOB 'it is not kept as it was: *';
UPDATE outbox_parts SET reason = 'too_large' WHERE state = 'failed' AND problem GLOB 'it has [0-9]* bytes, and the network takes [0-9]*: *';
UPDATE outbox_parts SET reason = 'refused' WHERE state = 'failed' AND problem GLOB 'the network refuses it: *';

-- How often the writer committed. The lock file says of how many somebody was told.
ALTER TABLE generation ADD COLUMN commits INTEGER NOT NULL DEFAULT 0;

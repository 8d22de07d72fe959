-- Of a scope over all time: what interrupted calls may have cost, which counts
-- up to and on the day doubt_until. spend.day is a window's name: YYYY-MM-DD,
-- YYYY-MM, or empty for all time.
ALTER TABLE spend ADD COLUMN doubt INTEGER NOT NULL DEFAULT 0;
ALTER TABLE spend ADD COLUMN doubt_until TEXT NOT NULL DEFAULT '';

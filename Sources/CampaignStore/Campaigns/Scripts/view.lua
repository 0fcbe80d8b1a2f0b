#!lua flags=no-writes
-- view: reads a campaign, and the bitmap of the slices that its totals include.
-- Invariant: both are read in one step. The caller adds the counters of the slices that are not included, so each slice
-- counts once.
-- KEYS 1 campaign, 2 finished slices
-- ARGV the names of the campaign's fields to read
-- Returns {values of the fields, bitmap of the finished slices}
return {redis.call('HMGET', KEYS[1], unpack(ARGV)), redis.call('GET', KEYS[2]) or ''}

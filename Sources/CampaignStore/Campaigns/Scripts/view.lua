#!lua flags=no-writes
-- view: reads a campaign, and which of its slices its totals include.
-- Invariant: both are read in one step. Adding the slices that are not included counts no slice twice and misses none.
-- KEYS 1 campaign, 2 finished slices
-- ARGV the campaign's fields to read
-- Returns {values of the fields, bitmap}
return {redis.call('HMGET', KEYS[1], unpack(ARGV)), redis.call('GET', KEYS[2]) or ''}

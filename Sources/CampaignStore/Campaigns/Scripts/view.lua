#!lua flags=no-writes
-- view: reads a campaign and which of its slices its totals include.
-- Invariant: both are of one moment, so adding the slices that are not included counts none twice and leaves none out.
-- KEYS 1 campaign, 2 finished slices
-- ARGV the campaign's fields to read
-- Returns {values of the fields, bitmap}
return {redis.call('HMGET', KEYS[1], unpack(ARGV)), redis.call('GET', KEYS[2]) or ''}

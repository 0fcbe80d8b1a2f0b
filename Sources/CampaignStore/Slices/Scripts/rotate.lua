#!lua flags=allow-oom
-- rotate: moves the first campaign of a lane to the end, and returns its id.
-- Invariant: all workers together take the campaigns of a lane in turn. The script needs no memory. It therefore runs
-- when Redis has no free memory, so that running campaigns can finish.
-- KEYS 1 lane
-- Returns the id, or false if the lane is empty
return redis.call('LMOVE', KEYS[1], KEYS[1], 'LEFT', 'RIGHT')

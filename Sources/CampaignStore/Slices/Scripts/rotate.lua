#!lua flags=allow-oom
-- rotate: moves the first campaign of a lane to the end of the ring, and returns its id.
-- Invariant: every campaign of a lane gets its turn in the order of the ring, for all workers together. The script
-- needs no memory, so it is allowed when Redis is full: running campaigns must still finish.
-- KEYS 1 lane
-- Returns the id, or false if the lane is empty
return redis.call('LMOVE', KEYS[1], KEYS[1], 'LEFT', 'RIGHT')

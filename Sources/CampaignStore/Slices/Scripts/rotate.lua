#!lua flags=allow-oom
-- rotate: moves the first campaign of a lane to the end of the ring, and says which it is.
-- Invariant: every campaign of a lane is reached in the order of the ring, whoever asks. It needs no memory, so it is
-- allowed when Redis is full: campaigns that run must be finished all the same.
-- KEYS 1 lane
-- Returns the id, or false when the lane is empty
return redis.call('LMOVE', KEYS[1], KEYS[1], 'LEFT', 'RIGHT')

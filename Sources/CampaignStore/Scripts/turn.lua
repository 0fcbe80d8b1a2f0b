#!lua flags=allow-oom
-- turn: says which campaign of a lane comes next, and sends it to the end of the ring.
-- Keeps: the campaigns of a lane take turns, whoever asks. It takes no memory, so it is allowed when there is none:
-- what runs must be finished all the same.
-- KEYS 1 lane
-- Returns the id, or false when the lane is empty
return redis.call('LMOVE', KEYS[1], KEYS[1], 'LEFT', 'RIGHT')

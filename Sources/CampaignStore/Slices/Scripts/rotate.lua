#!lua flags=allow-oom
-- rotate: moves the first campaign of a lane to the end of the lane, and returns its id.
-- Invariant: all workers together take the campaigns of a lane in turn. The script needs no additional memory, so it
-- also runs when Redis has no free memory. Running campaigns can therefore finish.
-- KEYS 1 lane
-- Returns the id of the campaign, or false if the lane is empty
return redis.call('LMOVE', KEYS[1], KEYS[1], 'LEFT', 'RIGHT')

#!lua flags=no-writes
-- idle: returns whether all work is done.
-- Invariant: all values are read in one step. If a job or campaign moves from one list to the next, the script finds it
-- in one of them.
-- KEYS 1 producers' list, 2 running campaigns, 3... intake lists of workers
-- Returns 1 if no job waits and no campaign runs, else 0
if redis.call('SCARD', KEYS[2]) > 0 then return 0 end
for i = 1, #KEYS do
  if i ~= 2 and redis.call('LLEN', KEYS[i]) > 0 then return 0 end
end
return 1

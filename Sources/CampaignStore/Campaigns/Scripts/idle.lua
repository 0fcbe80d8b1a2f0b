#!lua flags=no-writes
-- idle: says whether nothing is left to do.
-- Invariant: all is of one moment, so a job or campaign on its way from one list to the next is not overlooked.
-- KEYS 1 producers' list, 2 running campaigns, 3... workers' intakes
-- Returns 1 when there is no job to take in and no campaign that runs
if redis.call('SCARD', KEYS[2]) > 0 then return 0 end
for i = 1, #KEYS do
  if i ~= 2 and redis.call('LLEN', KEYS[i]) > 0 then return 0 end
end
return 1

#!lua flags=allow-oom
-- synccontrol: returns the states of the campaigns that a worker holds, and records the control epoch that the worker
-- has applied. Each pause, resume and cancel raises the epoch.
-- Invariant: the script reads the epoch and the states in one step. A worker that has applied the states has therefore
-- applied all commands up to that epoch. It reports the epoch with its next call.
-- KEYS 1 control epoch, 2 applied: the epochs that workers have applied, 3 store, 4... campaigns
-- ARGV 1 worker, 2 epoch that the worker has applied ('' for none yet), 3 number of partitions as the worker knows it
-- Returns an array:
--      control epoch
--      1 during a repartition of the store, 2 if its number of partitions differs from ARGV 3, else 0
--      then two values for each campaign: state, number of resumes
if ARGV[2] ~= '' then redis.call('ZADD', KEYS[2], ARGV[2], ARGV[1]) end
local store = redis.call('HMGET', KEYS[3], 'partitions', 'nextPartitions')
local hold = store[1] and store[1] ~= ARGV[3] and 2 or store[2] and 1 or 0
local answer = {tonumber(redis.call('GET', KEYS[1]) or 0) or -1, hold}
for i = 4, #KEYS do
  local campaign = redis.call('HMGET', KEYS[i], 'state', 'round')
  answer[2 * i - 5] = campaign[1]
  answer[2 * i - 4] = tonumber(campaign[2] or 0) or 0
end
return answer

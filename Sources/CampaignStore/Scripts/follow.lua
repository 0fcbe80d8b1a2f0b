#!lua flags=allow-oom
-- follow: tells a worker the states of the campaigns it holds, and takes note of the steering it has followed.
-- Keeps: epoch and states are of one moment, so a worker that has followed the states has followed every steering up to
-- that epoch, and may say so with its next call.
-- KEYS 1 epoch, 2 epochs that workers have followed, 3... campaigns
-- ARGV 1 worker, 2 epoch that it has followed ('' for none yet)
-- Returns {epoch, states...}
if ARGV[2] ~= '' and redis.call('HGET', KEYS[2], ARGV[1]) ~= ARGV[2] then
  redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
end
local answer = {tonumber(redis.call('GET', KEYS[1]) or 0)}
for i = 3, #KEYS do answer[i - 1] = redis.call('HGET', KEYS[i], 'state') end
return answer

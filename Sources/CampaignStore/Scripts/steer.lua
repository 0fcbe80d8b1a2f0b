#!lua
-- steer: pauses, resumes or cancels a campaign.
-- Keeps: a paused campaign is on no lane; a cancelled one is, until its slices have been closed (see `unpark`).
-- KEYS 1 campaign, 2 lane, 3 open slices
-- ARGV 1 id, 2 'pause' | 'resume' | 'cancel', 3 reason ('' for none)
-- Returns the state that follows, or false when there is no such campaign
local state = redis.call('HGET', KEYS[1], 'state')
if not state then return false end
local verb = ARGV[2]
if state == 'active' and verb == 'pause' then
  state = 'paused'
  redis.call('LREM', KEYS[2], 0, ARGV[1])
elseif state == 'paused' and verb == 'resume' then
  state = 'active'
elseif (state == 'active' or state == 'paused') and verb == 'cancel' then
  state = 'cancelled'
else
  return state
end
redis.call('HSET', KEYS[1], 'state', state)
if verb == 'resume' or ARGV[3] == '' then
  redis.call('HDEL', KEYS[1], 'reason')
else
  redis.call('HSET', KEYS[1], 'reason', ARGV[3])
end
if state ~= 'paused' and redis.call('LLEN', KEYS[3]) > 0 and not redis.call('LPOS', KEYS[2], ARGV[1]) then
  redis.call('RPUSH', KEYS[2], ARGV[1])
end
return state

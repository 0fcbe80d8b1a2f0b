#!lua flags=allow-oom
-- control: pauses, resumes, approves or cancels a campaign, and notes who did.
-- Keeps: a paused campaign is on no lane and not in the schedule; a cancelled one is on its lane until its slices have
-- been closed (see `unpark`). What has not begun has nothing to close: cancelled, it has ended, and `promote` finds
-- nothing to begin. Every call raises the control epoch, by which workers say what they have applied (see
-- `synccontrol`). A resumed campaign has a new guard trial, in a round of its own: whoever resumed it may have mended
-- what was wrong. Or it is not guarded any more, until it is resumed the next time. Earlier answers to its app count
-- no longer. While the store is held what has not begun does not: it waits in the schedule. So does what is repeated,
-- which is never begun itself. One that needs approval is resumed only by being approved, and by somebody else than who
-- submitted it. One that runs and of which all but a first wave wait goes on with these when it is resumed. A worker
-- speaks of a round: what it found before the campaign was resumed may have been mended, and changes nothing.
-- KEYS 1 campaign, 2 lane, 3 open slices, 4 running campaigns, 5 schedule, 6 ended campaigns, 7 control epoch,
--      8 guard trial, 9 answers of the app, 10 guard watch, 11 objections,
--      12 wake channel, 13 store, 14 changes, 15 timeline, 16 the campaign that ARGV 7 is of
-- ARGV 1 id, 2 'pause' | 'resume' | 'approve' | 'cancel', 3 reason ('' for none), 4 'unguarded' | '',
--      5 'person' | 'worker': whose word it is, 6 who it is ('' where nobody says), 7 how often the caller knows the
--      campaign to have been resumed ('' for whatever it is)
-- An entry of the timeline is, apart by tabs: ms since the epoch, verb, ARGV 5, 6 and 3. It keeps the last 200.
-- Returns {state that follows, epoch, 1 when this call ended the campaign else 0}, or false when there is none
local campaign = redis.call('HMGET', KEYS[1], 'state', 'sendAt', 'slices', 'approval', 'submittedBy', 'gate', 'repeat')
local was = campaign[1]
if not was then return false end
if ARGV[7] ~= '' and tonumber(redis.call('HGET', KEYS[16], 'round') or 0) > tonumber(ARGV[7]) then
  return {was, tonumber(redis.call('GET', KEYS[7]) or 0), 0}
end
local epoch = redis.call('INCR', KEYS[7])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local begun = redis.call('SISMEMBER', KEYS[4], ARGV[1]) == 1
local verb, due, state = ARGV[2], tonumber(campaign[2] or 0), was
local approves = verb == 'approve' and was == 'paused' and campaign[4] == 'needed' and ARGV[6] ~= ''
  and ARGV[6] ~= campaign[5]
if approves then verb = 'resume' end
if verb == 'pause' and (was == 'active' or was == 'scheduled') then
  state = 'paused'
elseif verb == 'resume' and was == 'paused' and (approves or campaign[4] ~= 'needed') then
  local is_held = redis.call('HGET', KEYS[13], 'nextPartitions')
  state = not begun and (due > now or is_held or campaign[7]) and 'scheduled' or 'active'
elseif verb == 'cancel' and (was == 'active' or was == 'scheduled' or was == 'paused') then
  state = 'cancelled'
end
redis.call('PUBLISH', KEYS[12], 'control ' .. epoch)
if verb == 'resume' and was == 'active' and tonumber(campaign[6] or 0) > now then
  redis.call('HSET', KEYS[1], 'gate', now)
end
if state == was then return {state, epoch, 0} end
redis.call('HSET', KEYS[1], 'state', state)
redis.pcall('XADD', KEYS[14], 'MAXLEN', '~', 1000, '*', 'campaign', ARGV[1], 'state', state, 'reason', ARGV[3],
  'by', ARGV[5])
if approves then redis.call('HSET', KEYS[1], 'approval', 'given', 'approvedBy', ARGV[6]) end
redis.call('RPUSH', KEYS[15], table.concat({now, ARGV[2], ARGV[5], ARGV[6], ARGV[3]}, '\t'))
redis.call('LTRIM', KEYS[15], -200, -1)
if verb == 'resume' then
  redis.call('DEL', KEYS[8], KEYS[9], KEYS[10], KEYS[11])
  redis.call('HINCRBY', KEYS[1], 'round', 1)
  redis.call('HSET', KEYS[1], 'unguarded', ARGV[4] == 'unguarded' and 1 or 0)
end
if verb == 'resume' or ARGV[3] == '' then
  redis.call('HDEL', KEYS[1], 'reason')
else
  redis.call('HSET', KEYS[1], 'reason', ARGV[3])
end
if state == 'paused' and ARGV[5] == 'worker' then
  redis.call('HSET', KEYS[1], 'pausedItself', 1)
else
  redis.call('HDEL', KEYS[1], 'pausedItself')
end
if state == 'scheduled' then
  redis.call('ZADD', KEYS[5], due, ARGV[1])
  return {state, epoch, 0}
end
redis.call('ZREM', KEYS[5], ARGV[1])
if state == 'paused' then
  redis.call('LREM', KEYS[2], 0, ARGV[1])
  return {state, epoch, 0}
end
if state == 'cancelled' and not begun then
  redis.call('HSET', KEYS[1], 'finishedAt', now, 'finished', campaign[3])
  redis.call('DEL', KEYS[3])
  redis.call('ZADD', KEYS[6], now, ARGV[1])
  return {state, epoch, 1}
end
redis.call('SADD', KEYS[4], ARGV[1])
local open = redis.call('LLEN', KEYS[3])
if open > 0 then
  if not redis.call('LPOS', KEYS[2], ARGV[1]) then redis.call('RPUSH', KEYS[2], ARGV[1]) end
  redis.call('PUBLISH', KEYS[12], 'slices ' .. open)
end
return {state, epoch, 0}

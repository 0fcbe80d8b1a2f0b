#!lua flags=allow-oom
-- probe: lends a worker sends of a campaign whose guard has not decided, and adds up what all workers were answered.
-- Keeps: until `minimum` answers are counted the whole fleet is lent twice that. What was lent and is never answered, its
-- worker having died, is lent again when nothing has happened for a lease. Answers from before the campaign was resumed
-- say nothing of what was mended meanwhile: they are not counted.
-- KEYS 1 probe, 2 campaign
-- ARGV 1 minimum, 2 lease ms, 3 sends wanted, then what is new since the worker's last call: 4 answers, 5 suspect ones,
--      6 devices gone, 7 sends that were answered otherwise or given back; 8 how often the worker knows the campaign to
--      have been resumed
-- Returns {answers, suspects, gone, sends lent, sends under way in the fleet}, or false when it was resumed since
if tonumber(redis.call('HGET', KEYS[2], 'round') or 0) > tonumber(ARGV[8]) then return false end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local probe = redis.call('HMGET', KEYS[1], 'answers', 'suspects', 'gone', 'lent', 'back', 'at')
local answers, suspects = tonumber(probe[1] or 0) + ARGV[4], tonumber(probe[2] or 0) + ARGV[5]
local gone, lent = tonumber(probe[3] or 0) + ARGV[6], tonumber(probe[4] or 0)
local back, minimum = tonumber(probe[5] or 0) + ARGV[7], tonumber(ARGV[1])
local isNews = tonumber(ARGV[4]) + tonumber(ARGV[7]) > 0
local left = 2 * minimum - (lent - back)
if left <= 0 and not isNews and now - tonumber(probe[6] or now) > tonumber(ARGV[2]) then
  back = lent - answers
  left = 2 * minimum - answers
end
local share = 0
if answers < minimum then share = math.max(0, math.min(tonumber(ARGV[3]), left)) end
lent = lent + share
if isNews or share > 0 or not probe[6] then
  redis.call('HSET', KEYS[1], 'answers', answers, 'suspects', suspects, 'gone', gone, 'lent', lent, 'back', back,
    'at', now)
end
return {answers, suspects, gone, share, lent - back - answers}

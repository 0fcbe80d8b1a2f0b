#!lua
-- puttemplate: stores a new version of a template, unless the newest version has the same content.
-- Invariant: a version never changes; every template is in the list of all templates.
-- KEYS 1 template, 2 names of all templates
-- ARGV 1 name of the template, 2 content, 3 maximum number of versions
-- Returns the number of the version that has the content; 0 if the template already has ARGV 3 versions
local latest = tonumber(redis.call('HGET', KEYS[1], 'latest') or '0')
if latest > 0 and redis.call('HGET', KEYS[1], tostring(latest)) == ARGV[2] then return latest end
if latest >= tonumber(ARGV[3]) then return 0 end
latest = latest + 1
redis.call('HSET', KEYS[1], tostring(latest), ARGV[2], 'latest', tostring(latest))
redis.call('SADD', KEYS[2], ARGV[1])
return latest

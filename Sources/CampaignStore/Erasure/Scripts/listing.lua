#!lua flags=no-writes
-- listing: returns the job of a campaign if the job may list users or tokens. An escape in JSON can hide a name, so the
-- script also returns every job with the escape `\u`.
-- Invariant: the script writes nothing. Most jobs name a segment, so the script does not return them.
-- KEYS 1 campaign
-- Returns the job, or false
local job = redis.call('HGET', KEYS[1], 'job')
if not job then return false end
for _, word in ipairs({'"users"', '"tokens"', '\\u'}) do
  if job:find(word, 1, true) then return job end
end
return false

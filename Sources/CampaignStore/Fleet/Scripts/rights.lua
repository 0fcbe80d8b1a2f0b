#!lua flags=no-writes
-- rights: says which commands the user who calls this may not run.
-- Invariant: it asks, and runs none of them. Redis 7 can be asked.
-- KEYS 1 any control key
-- ARGV 1... commands, each with its words between blanks
-- Returns false where Redis can't be asked, or those that the user may not run
if not redis.acl_check_cmd then return false end
local missing = {}
for i = 1, #ARGV do
  local words = {}
  for word in ARGV[i]:gmatch('%S+') do words[#words + 1] = word end
  -- A command that this server does not know is none that could be missing.
  local is_known, may = pcall(redis.acl_check_cmd, unpack(words))
  if is_known and not may then missing[#missing + 1] = ARGV[i] end
end
return missing

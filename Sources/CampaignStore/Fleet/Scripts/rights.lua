#!lua flags=no-writes
-- rights: returns which commands the Redis user of the caller may not run.
-- Invariant: the script only checks the rights and runs none of the commands. Redis supports the check from version 7
-- on.
-- KEYS 1 any key of the form `{ns}:...`, which the script does not read
-- ARGV 1... commands, each with its words separated by blanks
-- Returns the commands that the user may not run, or false if Redis does not support the check
if not redis.acl_check_cmd then return false end
local missing = {}
for i = 1, #ARGV do
  local words = {}
  for word in ARGV[i]:gmatch('%S+') do words[#words + 1] = word end
  -- A command that this server does not know is not reported as missing.
  local is_known, may = pcall(redis.acl_check_cmd, unpack(words))
  if is_known and not may then missing[#missing + 1] = ARGV[i] end
end
return missing

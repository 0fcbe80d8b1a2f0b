#!lua flags=no-writes
-- queue: reads a page of the jobs that wait to be taken in, newest first.
-- Invariant: the number and the bytes of a page's jobs are bounded, because a job may have 1 MB and the list any
-- length.
-- KEYS 1 producers' list, or the intake list of a worker
-- ARGV 1 place of the page's first job on the list, 2 maximum number of jobs, 3 number of bytes after which the page
--      ends
-- Returns {length of the list, jobs...}
local page, bytes = {redis.call('LLEN', KEYS[1])}, 0
for first = tonumber(ARGV[1]), ARGV[1] + ARGV[2] - 1, 8 do
  local jobs = redis.call('LRANGE', KEYS[1], first, first + 7)
  for _, job in ipairs(jobs) do
    page[#page + 1] = job
    bytes = bytes + #job
  end
  if #jobs < 8 or bytes >= tonumber(ARGV[3]) then break end
end
return page

-- A waiting URL that is not in hand ends where it waits. host, queue, fingerprint, outcome, row.
local key, at = queue_key(ARGV[2], ARGV[1]), 0
while true do
  local records = call('LRANGE', key, at, at + 499)
  if #records == 0 then return 0 end
  for _, record in ipairs(records) do
    if string.sub(record, 6, 13) == ARGV[3] then
      call('LREM', key, 1, record)
      call('HSET', T .. ':pages', ARGV[3], ARGV[5])
      count('e' .. ARGV[4], 1)
      count('waiting', -1)
      if call('HEXISTS', host_key(ARGV[1]), 'fl') == 1 then count('frozen', -1) end
      return 1
    end
  end
  at = at + 500
end

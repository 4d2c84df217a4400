-- Only the holder of a lease ends it: its clock returns with the host.
-- session, host, row, next time, "hold" or "", URLs to take in hand next time or "".
local session, host = ARGV[1], ARGV[2]
local key = host_key(host)
if call('HGET', key, 'le') ~= session then return 0 end
call('HDEL', key, 'le', 'b')
call('HDEL', T .. ':lease:' .. session, host)
if ARGV[6] == '' then
  call('HSET', key, 'row', ARGV[3], 'at', ARGV[4])
else
  call('HSET', key, 'row', ARGV[3], 'at', ARGV[4], 'b', ARGV[6])
end
if ARGV[5] == 'hold' and call('HEXISTS', key, 'fl') == 0 then
  for _, size in ipairs(unread(host)) do
    if size > 0 then
      hold(host, ARGV[4])
      return 1
    end
  end
end
stand_all(host)
return 1

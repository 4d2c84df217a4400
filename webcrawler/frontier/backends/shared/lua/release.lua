-- Only the holder of a lease ends it, and only that lease: what is said again, and arrives when the
-- host was leased anew, ends nothing. The clock returns with the host.
-- session, host, number of the step that leased it, row, next time, "hold" or "", URLs to take in
-- hand next time or "".
local session, host = ARGV[1], ARGV[2]
local key = host_key(host)
if call('HGET', T .. ':lease:' .. session, host) ~= ARGV[3] then return 0 end
call('HDEL', key, 'le', 'b')
call('HDEL', T .. ':lease:' .. session, host)
if ARGV[7] == '' then
  call('HSET', key, 'row', ARGV[4], 'at', ARGV[5])
else
  call('HSET', key, 'row', ARGV[4], 'at', ARGV[5], 'b', ARGV[7])
end
if ARGV[6] == 'hold' and call('HEXISTS', key, 'fl') == 0 then
  for _, size in ipairs(unread(host)) do
    if size > 0 then
      hold(host, ARGV[5])
      return 1
    end
  end
end
stand_all(host)
return 1

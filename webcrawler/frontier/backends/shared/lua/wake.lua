-- A held host returns when its time has come, not before. now.
for _, host in ipairs(call('ZRANGEBYSCORE', T .. ':held', '-inf', ARGV[1], 'LIMIT', 0, 1000)) do
  call('ZREM', T .. ':held', host)
  call('HDEL', host_key(host), 'hd')
  stand_all(host)
end
return look()

-- A worker that leaves in order keeps nothing: else it stays, to be inherited. session.
if call('HLEN', T .. ':hand:' .. ARGV[1]) + call('HLEN', T .. ':lease:' .. ARGV[1])
  + call('HLEN', T .. ':out:' .. ARGV[1]) > 0 then
  return 0
end
call('HDEL', T .. ':last', ARGV[1])
return call('HDEL', T .. ':live', ARGV[1])

-- A worker that leaves in order keeps nothing: else it stays, to be inherited. session.
if call('HLEN', T .. ':hand:' .. ARGV[1]) + call('HLEN', T .. ':lease:' .. ARGV[1])
  + call('HLEN', T .. ':out:' .. ARGV[1]) > 0 then
  return 0
end
return call('HDEL', T .. ':live', ARGV[1])

-- What has arrived elsewhere need not be kept. session, outbox id.
return call('HDEL', T .. ':out:' .. ARGV[1], ARGV[2])

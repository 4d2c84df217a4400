-- One clock for all workers: that of the server that has this key.
return call('TIME')

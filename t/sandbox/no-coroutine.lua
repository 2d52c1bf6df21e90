-- want: error there is no 'coroutine' here
-- within: 130 ms
coroutine.wrap(function() end)

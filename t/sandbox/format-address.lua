-- want: error %p is not allowed
-- within: 130 ms
('%p'):format({})

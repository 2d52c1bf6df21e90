-- want: error global 'pcall' is not allowed
-- within: 130 ms
pcall = nil

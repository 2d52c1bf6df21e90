-- want: error global 'x' is not allowed: use local
-- within: 130 ms
x = 1

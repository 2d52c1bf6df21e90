-- want: error has no order
-- within: 130 ms
for k in pairs({ [{}] = 1 }) do end

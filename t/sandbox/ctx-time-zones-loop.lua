-- want: budget
-- within: 130 ms
-- ctx
local zones = { 'Asia/Tokyo', 'Asia/Seoul', 'Asia/Dubai', 'Asia/Kolkata', 'Asia/Dhaka', 'Europe/Paris',
  'Europe/Rome', 'Europe/Oslo', 'Africa/Cairo', 'America/Lima' }
while true do for _, z in ipairs(zones) do ctx.time.now(z) end end

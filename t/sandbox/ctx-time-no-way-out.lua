-- want: ok
-- within: 130 ms
-- ctx
for _, z in ipairs({ '../../../etc/shadow', '/etc/passwd', '..', '.', 'Europe/../../passwd', '', 'a/../b', '-', 'Europe/',
  'posix/../../x', 'Europe\\Berlin', 'x\ny' }) do
  local t, m = ctx.time.now(z)
  assert(t == nil and m:find('is no name of a time zone', 1, true), z)
end

-- want: budget
-- within: 130 ms
::top::
goto top

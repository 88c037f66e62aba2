-- Clock
local effective = now
if last > now then
  if last - now > regression then
    return {'CLOCK_UNSAFE', now, now, 0, 0, last - regression - now, 0}
  end
  effective = last
end

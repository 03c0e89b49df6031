-- Healthy when the operator has made the objects; what the nodes do shows in their pool.
local conditions = {}
for _, condition in ipairs((obj.status or {}).conditions or {}) do
  conditions[condition.type] = condition
end

local function is_true(name)
  return conditions[name] ~= nil and conditions[name].status == "True"
end

if is_true("Degraded") then
  local degraded = conditions["Degraded"]
  return {status = "Degraded", message = (degraded.reason or "") .. ": " .. (degraded.message or "")}
end
if is_true("Progressing") then
  return {status = "Progressing", message = conditions["Progressing"].message or ""}
end
if is_true("Available") then
  return {status = "Healthy", message = conditions["Available"].message or ""}
end
return {status = "Progressing", message = "the operator has not read the profile yet"}

-- Healthy only when every node has the configuration that the pool wants now: the operator renders
-- a few seconds after a change, and until then Updated is still about the configuration before.
local spec = obj.spec or {}
local status = obj.status or {}
local generation = (obj.metadata or {}).generation
local conditions = {}
for _, condition in ipairs(status.conditions or {}) do
  conditions[condition.type] = condition
end

local function is_true(name)
  return conditions[name] ~= nil and conditions[name].status == "True"
end

local function counts()
  return tostring(status.updatedMachineCount or 0) .. " of " .. tostring(status.machineCount or 0)
    .. " nodes are updated"
end

if spec.paused then
  return {status = "Suspended", message = "paused: nodes get no configuration"}
end
for _, name in ipairs({"RenderDegraded", "NodeDegraded", "Degraded"}) do
  if is_true(name) then
    local message = conditions[name].message
    if message == nil or message == "" then
      message = conditions[name].reason or ""
    end
    return {status = "Degraded", message = name .. ": " .. message}
  end
end
if status.observedGeneration ~= generation then
  return {status = "Progressing", message = "the operator has not read the pool yet"}
end
local wanted = (spec.configuration or {}).name
local present = (status.configuration or {}).name
if wanted == nil or wanted == "" or wanted ~= present then
  return {status = "Progressing", message = counts()}
end
if not is_true("Updated") then
  return {status = "Progressing", message = counts()}
end
return {status = "Healthy", message = counts()}

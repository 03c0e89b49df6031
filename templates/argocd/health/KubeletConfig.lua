-- The operator appends a condition when its answer changes; the last one is about the present.
-- Its status is "False" for a failure, so that only the type says what happened.
local status = obj.status or {}
local generation = (obj.metadata or {}).generation
local conditions = status.conditions or {}
local last = conditions[#conditions]

if last == nil then
  return {status = "Progressing", message = "the operator has not read the object yet"}
end
-- Releases that do not write observedGeneration leave only the condition.
if status.observedGeneration ~= nil and status.observedGeneration ~= generation then
  return {status = "Progressing", message = "the operator has not read the last change yet"}
end
if last.type == "Failure" then
  return {status = "Degraded", message = last.message or ""}
end
if last.type == "Success" then
  return {status = "Healthy", message = "rendered; the nodes follow with their pool"}
end
return {status = "Progressing", message = last.message or ""}

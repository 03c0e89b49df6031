-- `status.status` sums up all nodes; it is about the generation that the operator has seen.
local metadata = obj.metadata or {}
local status = obj.status or {}
local annotations = metadata.annotations or {}
local state = status.status or "unknown"
local message = state
if status.completeNodes ~= nil and status.completeNodes ~= "" then
  message = state .. ", nodes complete: " .. status.completeNodes
end

if annotations["skyhook.nvidia.com/disable"] == "true" or state == "disabled" then
  return {status = "Suspended", message = "disabled"}
end
if annotations["skyhook.nvidia.com/pause"] == "true" or state == "paused" then
  return {status = "Suspended", message = "paused"}
end
if state == "erroring" then
  return {status = "Degraded", message = message}
end
-- Of the first generation, the operator notes none.
if (metadata.generation or 1) > 1 and (status.observedGeneration or 0) < metadata.generation then
  return {status = "Progressing", message = "the operator has not read the last change yet"}
end
if state == "complete" then
  return {status = "Healthy", message = message}
end
-- A blocked node waits for a taint or another package: that may end by itself.
return {status = "Progressing", message = message}

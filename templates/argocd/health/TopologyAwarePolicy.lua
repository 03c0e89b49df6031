-- Each node's plugin writes whether it took the configuration, and of which generation.
local generation = (obj.metadata or {}).generation
local nodes = {}
for name, _ in pairs((obj.status or {}).nodes or {}) do
  table.insert(nodes, name)
end
table.sort(nodes)

local waiting = 0
for _, name in ipairs(nodes) do
  local node = obj.status.nodes[name]
  if node.generation ~= generation then
    waiting = waiting + 1
  elseif node.status == "Failure" then
    return {status = "Degraded", message = name .. ": " .. (node.error or "")}
  end
end
if #nodes == 0 then
  return {status = "Progressing", message = "no node has read the policy yet"}
end
if waiting > 0 then
  return {status = "Progressing", message = tostring(waiting) .. " nodes have not read the last change yet"}
end
return {status = "Healthy", message = tostring(#nodes) .. " nodes have the policy"}

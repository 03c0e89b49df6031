-- Operators before OpenShift 4.17 write no condition: what exists is then all there is to say.
for _, condition in ipairs((obj.status or {}).conditions or {}) do
  if condition.type == "Valid" and condition.status == "False" then
    return {status = "Degraded", message = (condition.reason or "") .. ": " .. (condition.message or "")}
  end
end
return {status = "Healthy", message = ""}

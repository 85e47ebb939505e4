-- How Argo CD shows a Deployment or Revision of gx.dev: https://argo-cd.readthedocs.io, "Resource Health".
local function condition(type)
  for _, each in ipairs(obj.status.conditions or {}) do
    if each.type == type then
      return each
    end
  end
  return { status = "Unknown", message = "" }
end

if obj.status == nil or obj.status.observedGeneration ~= obj.metadata.generation then
  return { status = "Progressing", message = "The operator has not looked at this version yet." }
end
local suspended, stalled, ready = condition("Suspended"), condition("Stalled"), condition("Ready")
if suspended.status == "True" then
  return { status = "Suspended", message = suspended.message }
end
if stalled.status == "True" then
  return { status = "Degraded", message = stalled.message }
end
if ready.status ~= "True" then
  return { status = "Progressing", message = ready.message }
end
if ready.reason == "Hibernated" then
  return { status = "Suspended", message = ready.message }
end
return { status = "Healthy", message = ready.message }

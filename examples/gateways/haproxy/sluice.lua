-- Asks Sluice whether a request may pass. Leaves in txn.verdict: passed, refused, or unknown when there was no decision.
local URL = "http://sluice/v1/check/api"
local TOKEN = "THE-TOKEN-OF-SLUICE"

core.register_action("sluice", { "http-req" }, function(txn)
  local answer = core.httpclient():get({
    url = URL,
    dst = "abns@sluice",
    headers = {
      ["authorization"] = { "Bearer " .. TOKEN },
      ["x-sluice-key"] = { "ip:" .. txn.sf:src() },
    },
  })
  local headers = answer and answer.headers or {}
  local function keep(name, header)
    if headers[header] then
      txn:set_var("txn." .. name, headers[header][0])
    end
  end
  keep("policy", "ratelimit-policy")
  keep("limit", "ratelimit")
  keep("retry", "retry-after")
  if answer and answer.status == 200 then
    txn:set_var("txn.verdict", "passed")
  elseif headers["ratelimit"] then
    -- Only a decision says how much is left.
    txn:set_var("txn.verdict", "refused")
    txn:set_var("txn.problem", answer.body)
  else
    txn:set_var("txn.verdict", "unknown")
  end
end)

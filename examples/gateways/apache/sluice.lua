-- Asks Sluice whether a request may pass, before Apache does anything else with it.
local http = require("socket.http")
local ltn12 = require("ltn12")

local URL = "http://127.0.0.1:8080/v1/check/api"
local TOKEN = "THE-TOKEN-OF-SLUICE"
-- When the service gives no decision: "closed" refuses, "open" lets pass.
local WITHOUT_DECISION = "closed"

http.TIMEOUT = 1

function check(r)
  local body = {}
  local _, status, headers = http.request({
    url = URL,
    headers = { authorization = "Bearer " .. TOKEN, ["x-sluice-key"] = "ip:" .. r.useragent_ip },
    sink = ltn12.sink.table(body),
  })
  -- Without an answer, status is the error as text.
  local limit = type(status) == "number" and headers.ratelimit
  if not limit then
    return WITHOUT_DECISION == "open" and apache2.DECLINED or 503
  end
  -- headers_out would be replaced by those of the application.
  r.err_headers_out["RateLimit"] = limit
  r.err_headers_out["RateLimit-Policy"] = headers["ratelimit-policy"]
  if status == 200 then
    return apache2.DECLINED
  end
  if headers["retry-after"] then
    r.err_headers_out["Retry-After"] = headers["retry-after"]
  end
  r.status = status
  r.content_type = "application/problem+json"
  r:write(table.concat(body))
  return apache2.DONE
end

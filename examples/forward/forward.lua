-- Asks a Door about each request, as nginx does with auth_request.
local door = "http://127.0.0.1:8081/forward"
local identity = { "x-auth-org", "x-auth-app", "x-auth-account", "x-auth-roles" }

-- The question has no body and another connection.
local of_this_connection = {
	["connection"] = true, ["content-length"] = true, ["expect"] = true, ["keep-alive"] = true,
	["te"] = true, ["transfer-encoding"] = true, ["upgrade"] = true,
}

local function question(txn)
	local received, sent = txn.http:req_get_headers(), {}
	for name, values in pairs(received) do
		if not of_this_connection[name] then
			sent[name] = {}
			for i = 0, #values do
				table.insert(sent[name], values[i])
			end
		end
	end
	-- HTTP/2 says with neither header that there is a body.
	local bodyless = txn.sf:req_ver():find("^1") and not received["content-length"] and not received["transfer-encoding"]
	sent["x-original-method"] = { txn.sf:method() }
	sent["x-original-uri"] = { txn.sf:url() } -- as it was sent: a signature covers it
	sent["x-original-body"] = { bodyless and "none" or "some" }
	sent["x-forwarded-for"] = { txn.sf:src() }
	return sent
end

core.register_action("forward", { "http-req" }, function(txn)
	local answer = core.httpclient():get { url = door, headers = question(txn), timeout = 5000 }
	if answer.status == 200 then
		for _, name in ipairs(identity) do
			local values = answer.headers[name]
			txn.http:req_set_header(name, values and values[0] or "")
		end
		return
	end
	local reply = txn:reply { status = answer.status >= 400 and answer.status or 502, body = answer.body or "" }
	for name, values in pairs(answer.headers or {}) do
		if not of_this_connection[name] then
			for i = 0, #values do
				reply:add_header(name, values[i])
			end
		end
	end
	txn:done(reply)
end)

package main

// serverRow is the only one of processes, and not of calls.
var serverRow = row{
	name: "Server", title: "CPU of a whole server for a request",
	text: "The CPU, user and system, that the process of a server takes for each request, of eight connections at once: " +
		"of ten requests five read an object, four a page of ten of all properties, one writes an object.",
	because: "It asks for credentials, keeps everything in SQL, in memory here, narrows replies to scopes, and logs each request.",
	peers: []peer{
		{name: "plain server", floor: true, note: "net/http, encoding/json and a map: no credentials, no scopes, no log, and nothing is kept"},
		{name: ours, note: "the reference server with -db memory:, all three credentials in turn"},
		{name: "tenantkit signature", note: "signed requests only"},
		{name: "tenantkit bearer", note: "a bearer token only"},
		{name: "tenantkit session", note: "a session cookie only"},
	},
}

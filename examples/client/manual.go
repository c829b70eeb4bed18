package main

import _ "embed"

// The pages of the manual that are of no command.
var (
	//go:embed manual_about.txt
	about string
	//go:embed manual_connection.txt
	aboutConnections string
	//go:embed manual_scopes.txt
	aboutScopes string
)

// page is the help of a command, beside what cobra adds to it.
type page struct {
	purpose   string // one line
	arguments string
	more      string // paragraphs; may be empty
	examples  string // one command line per line
}

// manual has a page for each command.
var manual = map[string]page{
	"get": {
		purpose:   "Fetches a path below the org, and prints the reply.",
		arguments: "PATH",
		examples:  `client get '/c_messages?limit=3&paths[]=c_text'`,
	},
	"list": {
		purpose:   "Prints the items of a list, one line of JSON each, however many pages they fill.",
		arguments: "PATH",
		more: `Pages follow each other by _id, or by the keys of --sort and then _id: no item is
printed twice or missed while others are added and deleted. A busy server is asked
again. A walk that fails for good prints the position for --resume.`,
		examples: `client list --all --paths c_text,c_likes --where '{"c_likes":{"$gte":40}}' /c_messages
client list --max 10 --sort '{"c_likes":-1}' --paths c_text /c_messages
client list --all --paths c_text --rest c_messages /c_conversations/ID`,
	},
	"tail": {
		purpose:   "Follows the decisions of the org as they happen, one line for each.",
		arguments: "[WORD]...",
		more: `It needs GET /events of the server, and an account that is an administrator. Standard
error says how many decisions the server has dropped. After a broken connection the
client connects again, with growing waits. It ends with an error when the server
refuses or ends the stream, and without one when you interrupt it.

All flags and words must apply to a decision. A word is a part of the route, the
mechanism, the code of the fault, the need, the chain, or the id of the app, the
account or the request. Case does not count.`,
		examples: `client tail
client tail --refused
client tail --route 'POST /apps' bearer
client tail --allowed --json ACCOUNT_ID`,
	},
	"post": {
		purpose:   "Sends a POST to a path below the org, with JSON or without, and prints the reply.",
		arguments: "PATH [JSON]",
		more:      `With - for JSON, it is read from standard input.`,
		examples: `client post /c_messages '{"c_text":"hello"}'
client post /routes/echo`,
	},
	"patch": {
		purpose:   "Sends a PATCH with JSON to a path below the org, and prints the reply.",
		arguments: "PATH JSON",
		more:      `JSON has what is to change. With - for JSON, it is read from standard input.`,
		examples:  `client patch /c_messages/ID '{"c_text":"goodbye"}'`,
	},
	"delete": {
		purpose:   "Sends a DELETE to a path below the org, and prints the reply.",
		arguments: "PATH [JSON]",
		more:      `It does not ask whether you are sure. With - for JSON, it is read from standard input.`,
		examples: `client delete /c_messages/ID
client delete /apps/KEY/tokens/JTI`,
	},
	"sign": {
		purpose:   "Prints the headers that make a request a signed one, for another program to send.",
		arguments: "METHOD PATH",
		more:      `They are valid once, and only within the server's tolerance, usually five minutes.`,
		examples: `client sign --curl GET /schemas
client sign --curl --signature 2 --data '{"c_text":"hello"}' POST /c_messages`,
	},
	"mint": {
		purpose:   "Asks the server for a token that acts as an account, and prints it.",
		arguments: "ACCOUNT",
		more: `Without --permanent or --uses the token is ephemeral: it has no id and expires by
itself. Without --scope it may do what the account's roles allow. You must be an
administrator to mint for another account than your own, or with --role.`,
		examples: `client mint --scope object.read.c_message --life 5m ID
client mint --scope '*' --uses 3 ID
client mint --permanent ID`,
	},
	"verify": {
		purpose:   "Checks a token with the keys that the server publishes, and prints its claims.",
		arguments: "[TOKEN]",
		more: `Any other service checks it in the same way, without a credential. Without TOKEN, or
with -, it is read from standard input, where other users of the machine do not see
it. The keys are fetched over https, or from this machine. Only the server knows
whether a token with a jti was revoked or used up.`,
		examples: `client mint --scope '*' ID | client verify`,
	},
	"key make": {
		purpose:   "Makes an API key of an app, and prints it. The server does not show it again.",
		arguments: "NAME",
		more: `Without --scope it may do nothing. It can do no more than you, and only an
administrator makes one for another account. A partner sends it in the header Authorization: Bearer KEY.`,
		examples: `client key make --for ID --scope object.read.c_message --life 2160h 'Partner Ltd'`,
	},
	"key list": {
		purpose: "Prints the API keys of an app, one line of JSON each, without their secrets.",
		examples: `client key list
client key list --expiring 336h`,
	},
	"key replace": {
		purpose:   "Makes an API key that may do what another one may, and prints it.",
		arguments: "ID",
		more:      `The old key ends after the overlap, and never later than it would have.`,
		examples:  `client key replace --overlap 24h --life 2160h ID`,
	},
	"key revoke": {
		purpose:   "Revokes an API key of an app.",
		arguments: "ID",
		examples:  `client key revoke ID`,
	},
	"rotate": {
		purpose:   "Gives an app another secret, and prints it. The server does not show it again.",
		arguments: "[APP]",
		more:      `APP is a client key; without it, the credential's own app gets one.`,
		examples:  `client rotate --overlap 24h KEY`,
	},
	"tokens": {
		purpose:   "Lists the tokens of an app that are on record, or revokes them.",
		arguments: "[APP]",
		more: `APP is a client key; without it, that of the credential. The scope of a token that
another program has minted is unknown to the server, and is missing.`,
		examples: `client tokens --of ACCOUNT KEY
client tokens --revoke JTI KEY
client tokens --of ACCOUNT --revoke all KEY`,
	},
	"keys": {
		purpose:  "Lists the API keys of an app, as client key list does.",
		examples: `client keys --expiring 168h`,
	},
	"accounts": {
		purpose:   "Lists the accounts of the org, or prints one.",
		arguments: "[ID]",
		examples:  `client accounts -q .email`,
	},
	"sessions": {
		purpose:   "Lists the sessions of an account, or ends them.",
		arguments: "ACCOUNT",
		examples: `client sessions ACCOUNT
client sessions --end all ACCOUNT`,
	},
	"audit list": {
		purpose:  "Prints the entries of the org's audit log, the newest first.",
		more:     `You must be an administrator. All flags of client list apply.`,
		examples: `client audit list --where '{"account":"ID"}'`,
	},
	"audit verify": {
		purpose: "Reads the whole audit log of the org, and checks that no entry was changed, cut out or moved.",
		more: `It prints the number of the first row that does not hold, with exit status 1. Without
--checkpoint it cannot notice rows that were cut off at the end, nor a whole new log.
The file is that of the server's -audit-checkpoint, each line of which must hold. It has
the server's public key: give --checkpoint-key if others can write to the file.`,
		examples: `client audit verify --checkpoint checkpoints.txt`,
	},
	"audit export": {
		purpose:  "Prints the audit log of the org as OCSF events, one line of JSON each, the oldest first.",
		examples: `client audit export`,
	},
	"login": {
		purpose: "Keeps a server and a credential as a profile, so that other commands need no flags.",
		more: `On a terminal you are asked for what no flag, variable or file has. Otherwise the
secret is read from standard input. The profile is kept in a file that only the user
can read, once the server has accepted its credential.`,
		examples: `client login
client login --url https://api.example.com/acme/v2 --key KEY
client login --profile demo --demo-json /tmp/demo.json
client get --profile demo /accounts/me`,
	},
	"logout": {
		purpose:  "Deletes a profile. Its credential stays valid: rotate its secret on the server.",
		examples: `client logout --profile demo`,
	},
	"profile list": {
		purpose:  "Lists the profiles, without their secrets.",
		more:     `If it was in use, the profile named default is, again.`,
		examples: `client profile list`,
	},
	"profile use": {
		purpose:   "Makes a profile the one that commands without --profile use.",
		arguments: "NAME",
		examples:  `client profile use demo`,
	},
	"scope check": {
		purpose:   "Says whether chains allow a need, without a server.",
		arguments: "[--grant CHAIN]... NEED | --batch",
		more: `The answer is "allowed", or "denied" and exit status 1. With --batch each line of
standard input is a question, {"grants":["…"],"need":"…"}, and gets one line.`,
		examples: `client scope check --grant object.read.c_message --grant view object.read.c_message.*.c_text
echo '{"grants":["object.read"],"need":"object.read.c_message"}' | client scope check --batch`,
	},
	"scope explain": {
		purpose:   "Says which chain decides about a need, and why, without a server.",
		arguments: "[--grant CHAIN]... NEED",
		more: `A denial shows the nearest chain, and the segment at which it fails. Segments and
grants are counted from 1, as in the faults of a server.`,
		examples: `client scope explain --grant 'object.read.c_message.*.c_text' object.read.c_message`,
	},
}

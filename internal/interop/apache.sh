#!/usr/bin/env bash
# Proves that Apache with mod_oauth2 guards its pages by our introspection: apache.sh FACTS
# APACHE and APACHE_MODULES name another program and folder than the system's.
set -euo pipefail

facts=$1
modules=${APACHE_MODULES:-/usr/lib/apache2/modules}
home=$(mktemp -d)
trap 'kill "$apache" 2>/dev/null && wait "$apache" || true; rm -rf "$home"' EXIT

# fact NAME prints one of the demo facts.
fact() { env -u LD_LIBRARY_PATH node -p 'JSON.parse(require("fs").readFileSync(process.argv[1], "utf8"))[process.argv[2]]' "$facts" "$1"; }

port=$(env -u LD_LIBRARY_PATH node -e 'const s=require("net").createServer().listen(0,"127.0.0.1",()=>{console.log(s.address().port);s.close()})')
issuer=$(fact base_url)/$(fact org)/v2
echo 'behind Apache' >"$home/index.html"
chmod -R a+rX "$home" # Apache's workers run as nobody
cat >"$home/httpd.conf" <<-END
	ServerRoot $home
	ServerName localhost
	Listen 127.0.0.1:$port
	PidFile $home/pid
	ErrorLog $home/log
	LoadModule mpm_event_module $modules/mod_mpm_event.so
	LoadModule authn_core_module $modules/mod_authn_core.so
	LoadModule authz_core_module $modules/mod_authz_core.so
	LoadModule authz_user_module $modules/mod_authz_user.so
	LoadModule oauth2_module $modules/mod_oauth2.so
	User nobody
	Group nogroup
	DocumentRoot $home
	<Location />
	  AuthType oauth2
	  OAuth2TokenVerify introspect $issuer/oauth/introspect introspect.auth=client_secret_basic&client_id=$(fact narrow_client_key)&client_secret=$(fact narrow_client_secret)
	  Require valid-user
	</Location>
END
"${APACHE:-apache2}" -f "$home/httpd.conf" -D FOREGROUND &
apache=$!

# expect STATUS TOKEN asserts the status of a page.
expect() {
	local status
	status=$(env -u LD_LIBRARY_PATH curl -s -o "$home/page" -w '%{http_code}' --retry 50 --retry-delay 0 --retry-connrefused \
		-H "Authorization: Bearer $2" "http://127.0.0.1:$port/index.html")
	if [[ $status != "$1" ]]; then
		echo "got $status, want $1"
		cat "$home/log"
		exit 1
	fi
}

token=$(fact ephemeral_token)
expect 200 "$token"
grep -q 'behind Apache' "$home/page"
expect 401 "${token%????}AAAA"
expect 401 none
expect 200 "$(fact limited_token)"
echo '4 passed, apache'

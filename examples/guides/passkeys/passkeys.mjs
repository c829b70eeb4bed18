// The part that runs in the browser. base is the path of the org, such as /acme/v2.

async function post(path, body) {
  const response = await fetch(path, { method: 'POST', body: JSON.stringify(body) });
  const result = await response.json();
  if (!response.ok) throw new Error(`status ${response.status}`, { cause: result });
  return result.data;
}

// addPasskey needs a session that has just signed in.
export async function addPasskey(base) {
  const { publicKey } = await post(`${base}/passkeys/begin`);
  const passkey = await navigator.credentials.create({
    publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(publicKey),
  });
  return post(`${base}/passkeys`, passkey.toJSON());
}

// signIn is the whole login, or its second step after a password.
export async function signIn(base) {
  const { publicKey } = await post(`${base}/signin/begin`);
  const assertion = await navigator.credentials.get({
    publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(publicKey),
  });
  return post(`${base}/signin`, assertion.toJSON());
}

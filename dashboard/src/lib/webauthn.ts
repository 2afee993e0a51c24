// Passkeys: the JSON of the console API to the browser's interface, and back.

const toBytes = (text: string): Uint8Array<ArrayBuffer> => {
  const plain = atob(text.replace(/-/g, '+').replace(/_/g, '/'));
  const out = new Uint8Array(plain.length);
  for (let at = 0; at < plain.length; at++) out[at] = plain.charCodeAt(at);
  return out;
};
const fromBytes = (buffer: ArrayBuffer | null): string | null => {
  if (!buffer) return null;
  let text = '';
  for (const byte of new Uint8Array(buffer)) text += String.fromCharCode(byte);
  return btoa(text).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
};
type Json = Record<string, any>;
const ids = (list: Json[] | undefined) => list?.map((one) => ({ ...one, type: 'public-key' as const, id: toBytes(one['id']) }));

/** Whether this browser has passkeys here: not under an IP address, nor on an insecure page. */
export const hasPasskeys = (): boolean => typeof PublicKeyCredential == 'function' && isSecureContext && !/^[\d.]+$|^\[/.test(location.hostname);
/** Whether the e-mail field may offer passkeys. */
export const hasAutofill = async (): Promise<boolean> => hasPasskeys() && ((await PublicKeyCredential.isConditionalMediationAvailable?.()) ?? false);

/** Makes a passkey. */
export const create = async (options: Json): Promise<Json> => {
  const from = options['publicKey'] ?? options;
  const credential = (await navigator.credentials.create({
    publicKey: { ...from, challenge: toBytes(from.challenge), user: { ...from.user, id: toBytes(from.user.id) }, excludeCredentials: ids(from.excludeCredentials) },
  })) as PublicKeyCredential;
  const response = credential.response as AuthenticatorAttestationResponse;
  return {
    id: credential.id,
    rawId: fromBytes(credential.rawId),
    type: credential.type,
    response: {
      clientDataJSON: fromBytes(response.clientDataJSON),
      attestationObject: fromBytes(response.attestationObject),
      transports: response.getTransports?.() ?? [],
    },
    clientExtensionResults: credential.getClientExtensionResults(),
  };
};
/** Signs with a passkey. */
export const sign = async (options: Json, more: { conditional?: boolean; signal?: AbortSignal } = {}): Promise<Json> => {
  const from = options['publicKey'] ?? options;
  const credential = (await navigator.credentials.get({
    publicKey: { ...from, challenge: toBytes(from.challenge), allowCredentials: ids(from.allowCredentials) ?? [] },
    mediation: more.conditional ? 'conditional' : undefined,
    signal: more.signal,
  })) as PublicKeyCredential;
  const response = credential.response as AuthenticatorAssertionResponse;
  return {
    id: credential.id,
    rawId: fromBytes(credential.rawId),
    type: credential.type,
    response: {
      clientDataJSON: fromBytes(response.clientDataJSON),
      authenticatorData: fromBytes(response.authenticatorData),
      signature: fromBytes(response.signature),
      userHandle: fromBytes(response.userHandle),
    },
    clientExtensionResults: credential.getClientExtensionResults(),
  };
};

// decode returns the id, as a BigInt, that has this text: see docs/design/publicid.md. Texts without
// secrets are plain. Secrets are strings, or Uint8Arrays if they are no UTF-8. They belong
// on a server: whoever has one reads every text.
const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";

export async function decode(prefix, text, ...secrets) {
  const refuse = (why) => { throw new RangeError(`not an id of kind ${prefix}: ${why}`); };
  if (!text.startsWith(prefix + "_")) refuse("it has another prefix");
  const digits = [...text.slice(prefix.length + 1)].map((c) => alphabet.indexOf(c));
  if (digits.length !== (secrets.length ? 26 : 14)) refuse("it has another length");
  if (digits.includes(-1) || digits[0] > 7) refuse("it has a wrong digit");
  const number = (list) => list.reduce((n, digit) => n << 5n | BigInt(digit), 0n);
  if (!secrets.length) {
    const sum = digits.slice(0, 13).reduce((s, digit) => (s ^= digit, s << 1 ^ (s >> 4) * 37), 0);
    const id = number(digits.slice(0, 13));
    return sum === digits[13] && id > 0n ? id : refuse("it is mistyped");
  }
  for (const secret of secrets) {
    const id = await open(prefix, secret, number(digits));
    if (id > 0n && id < 1n << 63n) return id; // so the first 8 bytes are zero
  }
  refuse("no secret opens it");
}

async function open(prefix, secret, number) {
  const bytes = (s) => new TextEncoder().encode(s);
  const secretKey = await crypto.subtle.importKey("raw", typeof secret === "string" ? bytes(secret) : secret, "HKDF", false, ["deriveKey"]);
  const derivation = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info: bytes("snowlease publicid v1 " + prefix) };
  const key = await crypto.subtle.deriveKey(derivation, secretKey, { name: "AES-CBC", length: 256 }, false, ["encrypt", "decrypt"]);
  const block = Uint8Array.from({ length: 16 }, (_, i) => Number(number >> BigInt(120 - 8 * i) & 255n));
  // WebCrypto deciphers no single block. This second one deciphers to nothing but padding.
  const padding = await crypto.subtle.encrypt({ name: "AES-CBC", iv: block }, key, new Uint8Array());
  const plain = await crypto.subtle.decrypt({ name: "AES-CBC", iv: new Uint8Array(16) }, key, await new Blob([block, padding]).arrayBuffer());
  return new Uint8Array(plain).reduce((n, byte) => n << 8n | BigInt(byte), 0n);
}

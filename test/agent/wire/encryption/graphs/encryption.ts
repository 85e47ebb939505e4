import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import process from 'node:process';

type Context = { model: string; field: string; metadata: object };
type Fields = Record<string, unknown>;

const key = createHash('sha256')
  .update(process.env['MODULE_SECRET'] ?? '')
  .digest();

/** The kind of record and its field are authenticated. */
const sealed = ({ model, field }: Context, bytes: Uint8Array): Buffer => {
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(`${model}.${field}`));
  return Buffer.concat([nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
};

const opened = ({ model, field }: Context, bytes: Uint8Array): Buffer => {
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12)).setAAD(
    Buffer.from(`${model}.${field}`),
  );
  decipher.setAuthTag(bytes.subarray(-16));
  return Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()]);
};

const READABLE = new Set(['plain', 'owner']);

const each = (data: Fields, change: (value: unknown) => unknown): Fields =>
  Object.fromEntries(
    Object.entries(data).map(([name, value]) => [name, READABLE.has(name) ? value : change(value)]),
  );

/** Encrypts everything but labels that are looked for. */
export const encryption = {
  encrypt: {
    blob: async (context: Context, bytes: Uint8Array) => sealed(context, bytes),
    json: async (context: Context, data: Fields) =>
      each(data, (value) => sealed(context, Buffer.from(JSON.stringify(value))).toString('base64')),
  },
  decrypt: {
    blob: async (context: Context, bytes: Uint8Array) => opened(context, bytes),
    json: async (context: Context, data: Fields) =>
      each(
        data,
        (value) =>
          JSON.parse(opened(context, Buffer.from(value as string, 'base64')).toString()) as unknown,
      ),
  },
};

/** The same by `json` alone, with a handler of its own for one kind of record. */
export const byJson = {
  encrypt: { json: { default: encryption.encrypt.json, store: encryption.encrypt.json } },
  decrypt: { json: encryption.decrypt.json },
};

/** Reads what was encrypted, and encrypts nothing any more. */
export const onlyReads = { decrypt: encryption.decrypt };

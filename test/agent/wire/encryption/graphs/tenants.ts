import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import process from 'node:process';
import { Auth } from '@langchain/langgraph-sdk/auth';

type Context = { model: string; field: string; metadata: { tenant?: string } };
type Fields = Record<string, unknown>;

/** The key of the tenant. One that the test takes away is gone. The word that a server tries itself is nobody's. */
function keyOf({ model, field, metadata: { tenant } }: Context): Buffer {
  if (tenant === undefined && `${model}.${field}` !== 'run.key')
    throw new Error(`nobody's value of ${model}.${field}`);
  if (tenant !== undefined && tenant === process.env['GONE'])
    throw new Error('the key of this tenant is gone');
  return createHash('sha256')
    .update(`${process.env['MODULE_SECRET']} of ${tenant ?? 'nobody'}`)
    .digest();
}

const sealed = (context: Context, bytes: Uint8Array): Buffer => {
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', keyOf(context), nonce);
  return Buffer.concat([nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
};

const opened = (context: Context, bytes: Uint8Array): Buffer => {
  const decipher = createDecipheriv('aes-256-gcm', keyOf(context), bytes.subarray(0, 12));
  decipher.setAuthTag(bytes.subarray(-16));
  return Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()]);
};

const READABLE = new Set(['plain', 'owner']);

const each = (data: Fields, change: (value: unknown) => unknown): Fields =>
  Object.fromEntries(
    Object.entries(data).map(([name, value]) => [name, READABLE.has(name) ? value : change(value)]),
  );

/** Encrypts under the key of the tenant that the header of the request names. */
export const byHeader = {
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

/** Encrypts under the key of the tenant of the user, whatever the header says of that. */
export const byUser = {
  ...byHeader,
  context: async (
    user: { identity: string; tenant: string },
    { metadata }: { metadata: Fields },
  ) => {
    if (user.tenant === 'odd') return 'no object';
    if (user.tenant === 'lost') throw new Error('the directory of tenants does not answer');
    return { ...metadata, tenant: user.tenant };
  },
};

/** Lets in everybody, as one tenant unless the request names another. */
export const auth = new Auth().authenticate(async (request: Request) => {
  const tenant = request.headers.get('x-tenant') ?? 'tenant-red';
  return { identity: `user of ${tenant}`, permissions: [], tenant };
});

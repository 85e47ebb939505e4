import { encryption } from './encryption.ts';

type Context = { model: string; field: string };
type Fields = Record<string, unknown>;

const never = new Promise<never>(() => undefined);

/** Does what the value asks for, where it asks for something that a module must not do. */
const faulty = (text: string, { model }: Context): unknown => {
  if (text.includes('please hang')) return never;
  if (text.includes('please throw')) throw new Error('the key of the vault is 1234');
  if (text.includes('please return text')) return 'text';
  if (text.includes('please change the keys')) return { other: 1 };
  if (text.includes('please never yield')) for (;;);
  if (model === 'checkpoint' && text.includes('please fail in the graph'))
    throw new Error('no vault for graphs');
  return undefined;
};

export const atTimes = {
  encrypt: {
    blob: async (context: Context, bytes: Uint8Array) =>
      faulty(Buffer.from(bytes).toString(), context) ??
      encryption.encrypt.blob(context as never, bytes),
    json: async (context: Context, data: Fields) =>
      faulty(JSON.stringify(data), context) ?? encryption.encrypt.json(context as never, data),
  },
  decrypt: encryption.decrypt,
};

export const empty = {};
export const withoutDecrypt = {
  encrypt: encryption.encrypt,
  decrypt: { json: encryption.decrypt.json },
};
export const onlyThreads = {
  encrypt: { json: { thread: encryption.encrypt.json } },
  decrypt: { json: encryption.decrypt.json },
};
export const unknownKind = {
  ...encryption,
  encrypt: { json: { message: encryption.encrypt.json } },
};
export const noFunction = { ...encryption, encrypt: { blob: 'aes' } };
export const noHandler = { ...encryption, context: { tenant: 'one' } };
export const oneWay = {
  ...encryption,
  decrypt: {
    ...encryption.decrypt,
    blob: async (_: Context, bytes: Uint8Array) => bytes.subarray(1),
  },
};
export const wrongType = {
  ...encryption,
  encrypt: { ...encryption.encrypt, blob: async () => 'text' },
};

import { encryption as every } from './encryption.ts';

type Context = Parameters<typeof every.encrypt.json>[0];
type Fields = Record<string, unknown>;
type Handler = (context: Context, data: Fields) => Promise<Fields>;

/** Encrypts the key `ssn` of each record, and leaves all others readable. */
const ofNumber =
  (handler: Handler): Handler =>
  async (context, data) =>
    'ssn' in data ? { ...data, ...(await handler(context, { ssn: data['ssn'] })) } : data;

export const encryption = {
  encrypt: { blob: every.encrypt.blob, json: ofNumber(every.encrypt.json) },
  decrypt: { blob: every.decrypt.blob, json: ofNumber(every.decrypt.json) },
};

/** Adds the key to records that lack it. */
export const addsTheKey = {
  encrypt: {
    ...encryption.encrypt,
    json: async (_: Context, data: Fields) => ({ ...data, ssn: `sealed ${String(data['ssn'])}` }),
  },
  decrypt: encryption.decrypt,
};

/** Fails for records that lack the key. */
export const needsTheKey = {
  encrypt: {
    ...encryption.encrypt,
    json: async (_: Context, data: Fields) => ({
      ...data,
      ssn: (data['ssn'] as string).toUpperCase(),
    }),
  },
  decrypt: encryption.decrypt,
};

/** Turns values of each kind into text. */
export const losesKinds = {
  encrypt: {
    ...encryption.encrypt,
    json: async (_: Context, data: Fields) =>
      Object.fromEntries(Object.entries(data).map(([name, value]) => [name, String(value)])),
  },
  decrypt: { ...encryption.decrypt, json: async (_: Context, data: Fields) => data },
};

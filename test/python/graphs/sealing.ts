type Bytes = (context: unknown, bytes: Uint8Array) => Promise<Uint8Array>;

/** Turns each byte around, which is enough to see that a value was encrypted, and by whom. */
const turned: Bytes = (_, bytes) => Promise.resolve(bytes.map((byte) => byte ^ 0x5a));

export const encryption = { encrypt: { blob: turned }, decrypt: { blob: turned } };

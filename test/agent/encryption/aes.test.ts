import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { buildAesCodec } from '../../../src/agent/encryption/aes.ts';
import {
  openNamed,
  openRows,
  PLAIN,
  sealNamed,
  SEALED,
  type Codec,
  type Place,
} from '../../../src/agent/encryption/codec.ts';
import { Rejected, Unavailable } from '../../../src/errors.ts';

const key = (bytes = 32): string => randomBytes(bytes).toString('base64');
const codec = (keys: string[], names: string[] = [], encrypts = true): Codec =>
  buildAesCodec({ keys, encrypts, names });

const PLACE: Place = { kind: 'run.kwargs', of: 'one' };
const VALUE = { text: 'a canary', list: [1, null, 'x'] };
const sealed = async (from: Codec, value: unknown = VALUE, place = PLACE): Promise<unknown> =>
  JSON.parse(await from.seal(place, JSON.stringify(value))) as unknown;

describe('a value', () => {
  test.each([16, 24, 32])(
    'is read again with a key of %d bytes, and says nothing before',
    async (bytes) => {
      const own = codec([key(bytes)]);
      for (const value of [VALUE, null, 'text', 'long'.repeat(10_000), []]) {
        const stored = await sealed(own, value);
        expect(Object.keys(stored as object)).toEqual([SEALED]);
        expect(
          Buffer.from((stored as Record<string, string>)[SEALED]!, 'base64').includes('canary'),
        ).toBe(false);
        expect(await own.open(PLACE, stored)).toEqual(value);
        expect(await own.openText(PLACE, JSON.stringify(stored))).toBe(JSON.stringify(value));
      }
    },
  );

  test('that was stored before there was a key is read as it is', async () => {
    expect(await codec([key()]).open(PLACE, VALUE)).toEqual(VALUE);
    expect(await codec([key()]).openText(PLACE, '{"a":1}')).toBe('{"a":1}');
  });

  test('is never written alike twice, and is compressed where it is long', async () => {
    const own = codec([key()]);
    const [one, other] = [await own.seal(PLACE, '"x"'), await own.seal(PLACE, '"x"')];
    expect(one).not.toBe(other);
    expect((await own.seal(PLACE, JSON.stringify('long'.repeat(10_000)))).length).toBeLessThan(
      1000,
    );
  });

  test('can not be read in the place of another value, or when it was changed', async () => {
    const own = codec([key()]);
    const stored = (await sealed(own)) as Record<string, string>;
    for (const place of [
      { kind: 'run.kwargs', of: 'other' },
      { kind: 'store.value', of: 'one' },
    ] as const)
      await expect(own.open(place, stored)).rejects.toThrow(Unavailable);
    const bytes = Buffer.from(stored[SEALED]!, 'base64');
    for (const at of [0, 7, 20, 40, bytes.length - 1]) {
      const changed = Buffer.from(bytes);
      changed[at]! ^= 1;
      await expect(own.open(PLACE, { [SEALED]: changed.toString('base64') })).rejects.toThrow(
        Unavailable,
      );
    }
    await expect(own.open(PLACE, { [SEALED]: 'short' })).rejects.toThrow(Unavailable);
  });

  test('of bytes is read again, and bytes from before there was a key are as they were', async () => {
    const own = codec([key()]);
    const bytes = randomBytes(2000);
    const stored = await own.sealBytes(PLACE, bytes);
    expect(Buffer.from(stored).includes(bytes.subarray(0, 20))).toBe(false);
    expect(Buffer.from(await own.openBytes(PLACE, stored))).toEqual(bytes);
    expect(await own.openBytes(PLACE, bytes)).toEqual(bytes);
  });
});

describe('a strict codec', () => {
  const secret = key();
  const [lax, strict] = [
    codec([secret], ['secret']),
    buildAesCodec({ keys: [secret], encrypts: true, names: ['secret'], strict: true }),
  ];

  test('refuses what is not encrypted, but for what nothing was written to', async () => {
    for (const value of [VALUE, 'text', 1, [1]])
      await expect(strict.open(PLACE, value)).rejects.toThrow(Unavailable);
    await expect(strict.openText(PLACE, '{"a":1}')).rejects.toThrow(Unavailable);
    await expect(strict.openBytes(PLACE, randomBytes(20))).rejects.toThrow(Unavailable);
    await expect(openNamed(strict, { a: [{ secret: 'x' }] })).rejects.toThrow(Unavailable);
    for (const value of [null, {}, []]) expect(await strict.open(PLACE, value)).toEqual(value);
    expect(await openNamed(strict, { secret: null, plain: 'x' })).toEqual({
      secret: null,
      plain: 'x',
    });
    expect(await strict.open(PLACE, await sealed(lax))).toEqual(VALUE);
  });
});

describe('several keys', () => {
  const [old, next] = [key(), key()];

  test('read what any of them wrote, and the first one writes', async () => {
    const stored = await sealed(codec([old]));
    const both = codec([next, old]);
    expect(await both.open(PLACE, stored)).toEqual(VALUE);
    expect(await codec([next]).open(PLACE, await sealed(both))).toEqual(VALUE);
  });

  test('a value of a key that is not there is refused with the id of that key', async () => {
    const stored = await sealed(codec([old]));
    await expect(codec([next]).open(PLACE, stored)).rejects.toThrow(
      /the key [0-9a-f]{8}, which GX_AES_KEY does not have/,
    );
  });

  test('keys that only read leave new values as they are', async () => {
    const stored = await sealed(codec([old]));
    const reads = codec([old], ['secret'], false);
    expect(await reads.open(PLACE, stored)).toEqual(VALUE);
    expect(await sealed(reads)).toEqual(VALUE);
    expect(await sealNamed(reads, 'thread.metadata', { secret: 1 })).toEqual({ secret: 1 });
    await expect(reads.seal(PLACE, JSON.stringify(stored))).rejects.toThrow(Rejected);
  });
});

describe('named fields', () => {
  const own = codec([key()], ['secret']);

  test('are encrypted at any depth, and nothing else is', async () => {
    const record = {
      owner: 'me',
      secret: { a: 1 },
      more: [{ secret: 'x', plain: true }],
      none: null,
    };
    const stored = await sealNamed(own, 'thread.metadata', record);
    expect(stored).toMatchObject({
      owner: 'me',
      secret: { [SEALED]: expect.any(String) },
      more: [{ secret: { [SEALED]: expect.any(String) }, plain: true }],
      none: null,
    });
    expect(await openNamed(own, stored)).toEqual(record);
  });

  test('of a record can not take the server for a fool by its own sign', async () => {
    for (const record of [{ [SEALED]: 'x' }, { a: { [SEALED]: 'x' } }])
      await expect(sealNamed(own, 'thread.metadata', record)).rejects.toThrow(Rejected);
    expect(
      await openNamed(own, await sealNamed(own, 'thread.metadata', { secret: { [SEALED]: 'x' } })),
    ).toEqual({
      secret: { [SEALED]: 'x' },
    });
  });

  test('are opened in rows, beside whole values', async () => {
    const row = {
      id: 'one',
      kwargs: await sealed(own),
      metadata: await sealNamed(own, 'thread.metadata', { secret: 1 }),
      error: null,
    };
    const rows = [row as Record<'id' | 'kwargs' | 'metadata' | 'error', unknown>];
    const columns = {
      kwargs: (one: { id: unknown }): Place => ({ kind: 'run.kwargs', of: String(one.id) }),
      metadata: 'named',
    } as const;
    expect(await openRows(own, rows, columns)).toEqual([
      { id: 'one', kwargs: VALUE, metadata: { secret: 1 }, error: null },
    ]);
  });
});

test('without a key everything is stored as it is', async () => {
  expect(await PLAIN.seal(PLACE, '{"a":1}')).toBe('{"a":1}');
  expect(await sealNamed(PLAIN, 'thread.metadata', { secret: 1 })).toEqual({ secret: 1 });
});

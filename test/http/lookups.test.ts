import { expect, test } from 'vitest';
import { Lookups } from '../../src/http/outgoing/lookups.ts';

test('names below a domain whose servers keep silent hold up none below others', async () => {
  const silent = Promise.withResolvers<never[]>();
  const lookups = new Lookups(undefined, (host) =>
    host.endsWith('evil.example')
      ? silent.promise
      : Promise.resolve([{ address: '192.0.2.1', family: 4 }]),
  );
  const held = Array.from({ length: 50 }, (_, at) =>
    lookups.resolveAddresses(`a${at}.evil.example`),
  );
  expect(await lookups.resolveAddresses('git.example.com')).toEqual([
    { address: '192.0.2.1', family: 4 },
  ]);
  silent.resolve([]);
  expect((await Promise.all(held)).flat()).toEqual([]);
});

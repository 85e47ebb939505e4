import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';

/** Opens the bus between processes with these settings, and prints which modules of the store's client were loaded. */
const PROGRAM = `
import { createRequire } from 'node:module';
import { openEventLog } from './src/agent/stream/valkey/open.ts';
const store = JSON.parse(process.argv[1]);
const opened = await openEventLog({ db: {}, settings: { resumableSeconds: 1, maxEventBytes: 1024, store }, signals: { processId: 'p' }, log: {} });
console.log(Object.keys(createRequire(import.meta.url).cache).filter((path) => path.includes('iovalkey')).length);
await opened.close();
`;

const loadedWith = (store: object | null): number => {
  const { stdout } = spawnSync(
    process.execPath,
    ['--input-type=module', '--eval', PROGRAM, JSON.stringify(store)],
    { encoding: 'utf8' },
  );
  return Number(stdout);
};

test('the client of the key-value store is loaded only where there is one', () => {
  expect(loadedWith(null)).toBe(0);
  expect(loadedWith({ uri: 'redis://127.0.0.1:1', prefix: 'gx:' })).toBeGreaterThan(0);
});

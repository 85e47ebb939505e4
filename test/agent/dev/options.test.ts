import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { devOptions } from '../../../src/agent/dev/options.ts';
import { StartError } from '../../../src/errors.ts';

describe('options of dev', () => {
  test('nothing given: the gx.json here, on the usual port of this machine only, reloading', () => {
    expect(devOptions([])).toEqual({
      config: path.resolve('gx.json'),
      port: undefined,
      host: '127.0.0.1',
      databaseUri: undefined,
      reload: true,
      reset: false,
      logJson: false,
    });
  });

  test('all given', () => {
    const given = '--config a/gx.json --port 0 --host 0.0.0.0 --database-uri postgres://x/y --no-reload --log-json'.split(' ');
    expect(devOptions(given)).toMatchObject({ port: 0, host: '0.0.0.0', databaseUri: 'postgres://x/y', reload: false, logJson: true });
  });

  test('help asked for', () => expect(devOptions(['--help'])).toBeUndefined());

  test.each([
    ['a port that is none', ['--port', 'http']],
    ['no port at all', ['--port', '']],
    ['a port beyond the last', ['--port', '65536']],
    ['an unknown option', ['--prot', '1']],
    ['forgetting the data of a database that is not ours', ['--reset', '--database-uri', 'postgres://x/y']],
  ])('%s', (_, args) => expect(() => devOptions(args)).toThrow(StartError));
});

import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseDevOptions, refuseForJavaScript } from '../../../src/agent/dev/options.ts';
import { StartError } from '../../../src/errors.ts';

describe('options of dev', () => {
  test('nothing given: the gx.json here, on the usual port of this machine only, reloading', () => {
    expect(parseDevOptions([])).toEqual({
      config: path.resolve('gx.json'),
      port: undefined,
      host: '127.0.0.1',
      databaseUri: undefined,
      reload: true,
      reset: false,
      logJson: false,
      python: { interpreter: undefined, debugPort: undefined, allowBlocking: false },
    });
  });

  test('all given', () => {
    const given =
      '--config a/gx.json --port 0 --host 0.0.0.0 --database-uri postgres://x/y --no-reload --log-json'.split(
        ' ',
      );
    expect(parseDevOptions(given)).toMatchObject({
      port: 0,
      host: '0.0.0.0',
      databaseUri: 'postgres://x/y',
      reload: false,
      logJson: true,
    });
  });

  test('help asked for', () => expect(parseDevOptions(['--help'])).toBeUndefined());

  test.each([
    ['a port that is none', ['--port', 'http']],
    ['no port at all', ['--port', '']],
    ['a port beyond the last', ['--port', '65536']],
    ['a port for a debugger that is any', ['--debug-port', '0']],
    ['an unknown option', ['--prot', '1']],
    [
      'forgetting the data of a database that is not ours',
      ['--reset', '--database-uri', 'postgres://x/y'],
    ],
  ])('%s', (_, args) => expect(() => parseDevOptions(args)).toThrow(StartError));

  const graphs = (
    language: 'javascript' | 'python',
  ): Parameters<typeof refuseForJavaScript>[1] => ({
    path: '/a/gx.json',
    graphs: [
      { graphId: 'agent', language, file: '/a/graph', exportName: 'graph', description: null },
    ],
  });

  test.each([[['--python', 'python3']], [['--debug-port', '5678']], [['--allow-blocking']]])(
    '%j is for graphs in Python, and is refused where there is none',
    (args) => {
      const options = parseDevOptions(args)!;
      expect(() => refuseForJavaScript(options, graphs('python'))).not.toThrow();
      expect(() => refuseForJavaScript(options, graphs('javascript'))).toThrow(
        new StartError(`dev: ${args[0]} is for graphs in Python, and /a/gx.json names none.`),
      );
    },
  );
});

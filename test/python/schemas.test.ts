import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, inject, test } from 'vitest';

const run = promisify(execFile);

test('a context that is a TypedDict of typing has a schema; one that can have none is named once, with its graph', async () => {
  const { stdout, stderr } = await run(`${inject('python')}/python`, ['test/python/schemas.py'], {
    env: { PYTHONPATH: 'python' },
  });
  const { settings, connected } = JSON.parse(stdout) as Record<
    'settings' | 'connected',
    Record<string, { properties: object; required?: string[] } | null>
  >;
  const schema = {
    properties: { model: { type: 'string' }, retries: { type: 'integer' } },
    required: ['model'],
  };
  expect(settings).toMatchObject({ context_schema: schema, config_schema: schema });
  expect(settings.input_schema).toMatchObject({ properties: { city: { type: 'string' } } });
  expect(connected).toMatchObject({ context_schema: null, config_schema: null });
  expect(stderr).toMatch(
    /^Graph "connected": clients get no schema of its config and context, because none can be made: Unable to generate pydantic-core schema for <class '__main__.Client'>\..*\n$/,
  );
});

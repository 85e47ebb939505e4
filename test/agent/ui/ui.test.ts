import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { failedStart, startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';
import { LANGGRAPH, UsersProject } from '../../kit/users-project.ts';

/* Generative UI: what an application's pages load from the server that runs the graph. */

const here = 'test/agent/ui/graphs';
const run = promisify(execFile);
const AGENT = { ...LANGGRAPH, '@langchain/langgraph-sdk': '1.15.0' };
const BUNDLER = { '@langchain/langgraph-ui': '2.0.0' };
const PAGE = { react: '19.2.0', 'react-dom': '19.2.0', jsdom: '27.0.0' };

let database: Awaited<ReturnType<typeof freshDatabase>>;
let project: UsersProject;
let agent: AgentProcess;

beforeAll(async () => {
  database = await freshDatabase();
  project = await UsersProject.make(here, { ...AGENT, ...BUNDLER, ...PAGE });
  agent = await startAgent({
    database: database.uri,
    config: project.path('gx.json'),
    env: { GX_TRUSTED_PROXIES: '127.0.0.1' },
  });
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
  await project.remove();
});

const html = (name: string, component: string, headers = {}): Promise<Response> =>
  fetch(`${agent.url}/ui/${name}`, {
    method: 'POST',
    headers: { accept: 'text/html', 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ name: component }),
  });

test('a page shows the component that a graph asked for, with what the page shares', async () => {
  const { ui } = (await agent.client.runs.wait(null, 'weather-report', {
    input: { city: 'Bonn' },
  })) as { ui: object[] };
  expect(ui).toMatchObject([{ type: 'ui', name: 'weather', props: { city: 'Bonn' } }]);
  const [assistant] = await agent.client.assistants.search();
  for (const name of ['weather-report', assistant!.assistant_id]) {
    const { stdout } = await run(process.execPath, [
      project.path('page.mjs'),
      agent.url,
      name,
      JSON.stringify(ui[0]),
    ]);
    expect(stdout).toContain('<p class="weather">Rain in Bonn, says the page</p>');
    expect(stdout).toContain('<link rel="stylesheet" href="http');
  }
});

test('the files of a component may be kept as long as they stay the same', async () => {
  const [link, script] = [
    ...(await (await html('weather-report', 'weather')).text()).matchAll(/(?:href|src)="([^"]+)"/g),
  ].map(([, url]) => url!);
  const style = await fetch(link!);
  expect(style.headers.get('content-type')).toBe('text/css; charset=utf-8');
  expect(style.headers.get('cache-control')).toContain('immutable');
  expect(await style.text()).toContain('rgb(1, 2, 3)');
  const code = await fetch(script!);
  expect(code.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
  const bare = await fetch(script!.replace(/\?.*/, ''));
  expect(bare.headers.get('cache-control')).toBe('no-cache');
});

test('the addresses are those that the page can reach, and names can not break out of the HTML', async () => {
  const headers = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'agents.example.com' };
  const text = await (await html('weather-report', `"'></script><b>`, headers)).text();
  expect(text).toContain('src="https://agents.example.com/ui/weather-report/entrypoint.js?v=');
  expect(text).toContain(
    'onload="__LGUI_weather_report.render(&quot;\\&quot;&#39;>&lt;/script>&lt;b>&quot;, &quot;{{shadowRootId}}&quot;)"',
  );
});

test('what is not there is not found, and a component needs a name', async () => {
  expect(await (await html('nothing', 'weather')).json()).toEqual({
    detail: 'gx.json has no "ui" named "nothing".',
  });
  expect((await fetch(`${agent.url}/ui/weather-report/other.js`)).status).toBe(404);
  expect(
    (await fetch(`${agent.url}/ui/weather-report`, { method: 'POST', body: '{}' })).status,
  ).toBe(422);
});

test('without the bundler the graphs are served, and the log says what is missing', async () => {
  const bare = await UsersProject.make(here, AGENT);
  const other = await startAgent({ database: database.uri, config: bare.path('gx.json') });
  expect(
    await other.client.runs.wait(null, 'weather-report', { input: { city: 'Bonn' } }),
  ).toMatchObject({ ui: [{ name: 'weather' }] });
  expect(
    (await fetch(`${other.url}/ui/weather-report`, { method: 'POST', body: '{"name":"weather"}' }))
      .status,
  ).toBe(404);
  expect(other.output()).toContain('npm install @langchain/langgraph-ui adds it');
  await other.kill();
  await bare.remove();
});

test('a bundler that only the command of the vendor has is found, as pnpm places it', async () => {
  const pnpm = await UsersProject.make(here, { ...AGENT, ...BUNDLER, ...PAGE });
  const all = realpathSync(pnpm.path('node_modules'));
  rmSync(pnpm.path('node_modules'));
  const store = pnpm.path('store/node_modules/@langchain');
  for (const folder of [store, pnpm.path('node_modules/@langchain')])
    mkdirSync(folder, { recursive: true });
  const link = (name: string): void =>
    symlinkSync(join(all, name), pnpm.path(join('node_modules', name)));
  for (const name of readdirSync(all)) if (name !== '@langchain') link(name);
  for (const name of readdirSync(join(all, '@langchain')))
    if (name !== 'langgraph-ui') link(join('@langchain', name));
  symlinkSync(join(all, '@langchain/langgraph-ui'), join(store, 'langgraph-ui'));
  for (const name of ['langgraph-cli', 'langgraph-api']) {
    mkdirSync(join(store, name));
    writeFileSync(
      join(store, name, 'package.json'),
      JSON.stringify({ name: `@langchain/${name}`, version: '1.0.0', exports: {} }),
    );
  }
  symlinkSync(join(store, 'langgraph-cli'), pnpm.path('node_modules/@langchain/langgraph-cli'));
  const other = await startAgent({ database: database.uri, config: pnpm.path('gx.json') });
  expect((await fetch(`${other.url}/ui/weather-report/entrypoint.js`)).status).toBe(200);
  await other.kill();
  await pnpm.remove();
});

test.each([
  [
    'a file that is not there',
    './none.tsx',
    '"ui.weather-report" names ./none.tsx, which is not there',
  ],
  [
    'a component that does not compile',
    './broken.tsx',
    `"ui" can't be bundled: Build failed with 1 error`,
  ],
])('a start with %s fails with a sentence', async (_, source, sentence) => {
  const other = await UsersProject.make(here, { ...AGENT, ...BUNDLER, ...PAGE });
  other.write('broken.tsx', 'export default <');
  other.write('gx.json', {
    graphs: { 'weather-report': './report.ts:graph' },
    ui: { 'weather-report': source },
  });
  const { code, output } = await failedStart({
    database: database.uri,
    config: other.path('gx.json'),
  });
  expect(code).toBe(1);
  expect(output).toContain(sentence);
  await other.remove();
});

test('an image that was built has its components without the bundler', async () => {
  const built = await UsersProject.make(here, { ...AGENT, ...BUNDLER, ...PAGE });
  const env = { GX_CONFIG: built.path('gx.json'), GX_BUILD_FOLDER: built.path('.build') };
  await run(process.execPath, ['src/main.ts', 'agent-build'], { env });
  await built.replacePackages(AGENT);
  for (const file of ['ui.tsx', 'ui.css']) rmSync(built.path(file));
  const other = await startAgent({ database: database.uri, config: built.path('gx.json'), env });
  const script = await (await fetch(`${other.url}/ui/weather-report/entrypoint.js`)).text();
  expect(script).toContain('LGUI_REQUIRE');
  await other.kill();
  await built.remove();
});

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { extendEnvironment } from '../../dev/env.ts';
import { runMain, printLine, step } from '../../dev/steps.ts';
import { until } from '../kit/until.ts';

/*
 * The first hour of a developer who knows Python and no Node: the wheel from its file in an environment of its own,
 * `gx new --python`, the project's packages, its test, `gx dev`, and a run by the official client.
 */

const execute = promisify(execFile);
/** Bytes of a wheel at most: PyPI takes no larger file without asking. */
const LARGEST = 100 * 1000 * 1000;
/** Nothing here takes longer, even where packages come over a slow network. */
const WITHIN = 240_000;

type Options = { cwd?: string; env?: NodeJS.ProcessEnv };
const run = async (command: string, args: string[], options: Options = {}): Promise<string> =>
  (await execute(command, args, { ...options, timeout: WITHIN })).stdout;

async function built(folder: string): Promise<string> {
  await run(process.execPath, ['dev/package/wheel/main.ts', '--out', folder]);
  const [name = ''] = readdirSync(folder);
  assert.match(name, /^gx_platform-[\d.]+-py3-none-manylinux_2_\d+_x86_64\.whl$/);
  const file = join(folder, name);
  const { size } = statSync(file);
  printLine(`${name} has ${(size / 1_000_000).toFixed(1)} MB`);
  assert.ok(size <= LARGEST, `the wheel has ${size} bytes`);
  return file;
}

/** Says which of the words stand in the files of a wheel, and whether each file is as the list of the wheel says. */
const READ = `import base64, csv, hashlib, json, sys, zipfile
wheel, words = zipfile.ZipFile(sys.argv[1]), sys.argv[2:]
assert wheel.testzip() is None
listed = {row[0]: row[1:] for row in csv.reader(wheel.read(next(n for n in wheel.namelist() if n.endswith("/RECORD"))).decode().splitlines())}
assert sorted(listed) == sorted(wheel.namelist()), "the list names all files"
found = set()
for name in wheel.namelist():
    content = wheel.read(name)
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    assert name.endswith("/RECORD") or listed[name] == ["sha256=" + digest, str(len(content))], name
    found.update(word for word in words if word.encode() in content)
licenses = [name.split("/licenses/")[1] for name in wheel.namelist() if "/licenses/" in name]
print(json.dumps({"found": sorted(found), "licenses": sorted(licenses)}))`;

async function examined(wheel: string): Promise<void> {
  const registry = new URL((await run('npm', ['config', 'get', 'registry'])).trim()).host;
  const words = [registry, process.cwd()].filter((word) => word !== 'registry.npmjs.org');
  const read = JSON.parse(await run('python3', ['-c', READ, wheel, ...words])) as {
    found: string[];
    licenses: string[];
  };
  assert.deepEqual(read, {
    found: [],
    licenses: [
      'LICENSE',
      'LICENSE-node',
      'LICENSE-postgresql',
      'LICENSES-npm',
      'LICENSES-postgresql-libraries',
    ],
  });
}

/** An empty environment, in which pip finds the wheel alone. */
async function installed(wheel: string, folder: string): Promise<string> {
  const venv = join(folder, 'gx');
  await run('python3', ['-m', 'venv', venv]);
  await run(join(venv, 'bin/pip'), ['install', '--quiet', '--no-index', wheel]);
  return join(venv, 'bin');
}

/** Follows the README of a new project. */
async function project(programs: string, folder: string): Promise<string> {
  const env = extendEnvironment({ PATH: `${programs}:/usr/bin:/bin` });
  assert.match(await run(join(programs, 'gx'), ['--help'], { env }), /new \[folder\]/);
  assert.match(
    await run(join(programs, 'gx'), ['new', '--python', 'my-agent'], { cwd: folder, env }),
    /gx dev/,
  );
  const own = join(folder, 'my-agent');
  const [install = ''] =
    /^python3 -m venv .*$/m.exec(readFileSync(join(own, 'README.md'), 'utf8')) ?? [];
  await run('sh', ['-c', install], { cwd: own });
  assert.match(await run('.venv/bin/pytest', ['-q'], { cwd: own }), /1 passed/);
  return own;
}

const CLIENT = `import asyncio, sys
from langgraph_sdk import get_client

async def main():
    client = get_client(url=sys.argv[1])
    thread = await client.threads.create()
    words = []
    messages = {"messages": [{"role": "user", "content": "hello"}]}
    async for part in client.runs.stream(thread["thread_id"], "agent", input=messages, stream_mode="messages-tuple"):
        if part.event == "messages":
            words.append(part.data[0]["content"])
    assert len(words) > 5, words
    print("".join(words))

asyncio.run(main())`;

async function served(programs: string, own: string): Promise<void> {
  const env = extendEnvironment({ PATH: `${programs}:/usr/bin:/bin` });
  const child = spawn(join(programs, 'gx'), ['dev', '--port', '0'], {
    cwd: own,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const closed = once(child, 'close');
  const ready = (): RegExpExecArray | null => /^Ready after (\S+) s: (http\S+)$/m.exec(output);
  try {
    await until('gx dev is ready', async () => ready() !== null || child.exitCode !== null, 90);
    const [, seconds, url = ''] = ready() ?? [];
    assert.ok(url !== '', output);
    printLine(`    ready after ${seconds} s`);
    assert.ok(
      output.includes(`Python  ${own}/.venv/bin/python (the .venv beside gx.json)`),
      output,
    );
    assert.match(
      await run(join(own, '.venv/bin/python'), ['-c', CLIENT, url]),
      /^You said "hello"\./,
    );
    for (const path of ['docs', 'chat', 'chat/page.js'])
      assert.equal((await fetch(`${url}/${path}`)).status, 200, path);
  } finally {
    child.kill('SIGINT');
    await closed;
  }
  assert.doesNotMatch(output, /Error|Traceback/);
}

/** Without an environment of the project's own, the one that gx is installed in is asked for LangGraph. */
async function ofGx(programs: string, own: string): Promise<void> {
  await rm(join(own, '.venv'), { recursive: true });
  const env = extendEnvironment({ PATH: `${programs}:/usr/bin:/bin` });
  const failed = await run(join(programs, 'gx'), ['dev', '--port', '0'], { cwd: own, env }).catch(
    (error: { stderr: string }) => error.stderr,
  );
  assert.match(
    failed,
    new RegExp(`which ${programs}/python\\S* \\(gx is installed there\\) does not have: run `),
  );
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'gx-wheel-'));
  try {
    const wheel = await step('the wheel', () => built(mkdtempSync(join(folder, 'first-'))));
    await step('the same bytes again', async () =>
      assert.ok(
        readFileSync(await built(mkdtempSync(join(folder, 'second-')))).equals(readFileSync(wheel)),
      ),
    );
    await step('its files, its licenses, and no address of this machine', () => examined(wheel));
    const programs = await step('pip install', () => installed(wheel, folder));
    const own = await step('gx new --python, and its test', () => project(programs, folder));
    await step('gx dev, and a run', () => served(programs, own));
    await step('gx dev in the environment of gx', () => ofGx(programs, own));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

await runMain(main);

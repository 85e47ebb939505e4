import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { execFile } from 'node:child_process';
import { CASES, type UsageCase } from '../cases.ts';
import { startProviders } from './providers.ts';

/*
 * Records how the packages of LangChain tell the usage of each case, in both languages, in `../answers.json`:
 *
 *     node test/agent/usage/record/main.ts FOLDER
 *
 * FOLDER has `node_modules` with @langchain/{anthropic,aws,core,google-genai,ollama,openai}, and `venv` with the same
 * packages of PyPI. Both read what a provider of this machine answers; nothing leaves it.
 */

/** What a callback of a language hears; `cached`: JavaScript says so beside it. */
export type Heard = { output: object; cached?: true };
export type Recorded = { name: string; streamed: boolean; javascript: Heard; python: Heard };

/** Answers that come whole alone: Bedrock streams in a format of its own, and a cache knows no streams. */
const isWholeAlone = ({ api, choices, repeated }: UsageCase): boolean =>
  api === 'bedrock' || choices !== undefined || repeated === true;

async function main(folder: string): Promise<void> {
  const asked = CASES.flatMap((one, index) =>
    [false, true]
      .filter((streamed) => !streamed || !isWholeAlone(one))
      .map((streamed) => ({ ...one, index, streamed })),
  );
  const providers = await startProviders(CASES);
  const run = async (program: string, script: string): Promise<Heard[]> => {
    const args = [script, providers.url, JSON.stringify(asked)];
    const { stdout } = await promisify(execFile)(program, args, { cwd: folder, maxBuffer: 1e8 });
    return stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Heard);
  };
  const here = import.meta.dirname;
  const python = await run(resolve(folder, 'venv/bin/python'), resolve(here, 'record.py'));
  const javascript = await run(process.execPath, resolve(folder, 'record.mjs'));
  providers.stop();
  const recorded = asked.map(({ name, streamed }, at): Recorded => ({
    name,
    streamed,
    javascript: javascript[at]!,
    python: python[at]!,
  }));
  writeFileSync(resolve(here, '../answers.json'), `${JSON.stringify(recorded, null, 1)}\n`);
}

await main(resolve(process.argv[2]!));

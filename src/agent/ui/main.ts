import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { toError } from '../../errors.ts';

/* This separate process bundles the components of gx.json's `ui` with the bundler of the user's project. */

/** Name -> file name -> its text; a bundle is JavaScript and style sheets. */
export type Bundles = Record<string, Record<string, string>>;
/** `bundler` is the file of `@langchain/langgraph-ui`; the rest is its input. */
export type BundlesAsked = {
  bundler: string;
  cwd: string;
  defs: Record<string, string>;
  config: { shared?: string[] };
};
export type BundlesMade = { bundles: Bundles } | { failed: string };

async function bundle({ bundler, ...asked }: BundlesAsked): Promise<Bundles> {
  const { build } = (await import(pathToFileURL(bundler).href)) as {
    build(options: Omit<BundlesAsked, 'bundler'> & { output: string }): Promise<void>;
  };
  const output = await mkdtemp(path.join(tmpdir(), 'gx-ui-'));
  try {
    await build({ ...asked, output });
    const bundles: Bundles = {};
    for (const name of Object.keys(asked.defs))
      bundles[name] = await readTexts(path.join(output, 'public', name));
    return bundles;
  } finally {
    await rm(output, { recursive: true });
  }
}

async function readTexts(folder: string): Promise<Record<string, string>> {
  const texts: Record<string, string> = {};
  for (const file of await readdir(folder))
    texts[file] = await readFile(path.join(folder, file), 'utf8');
  return texts;
}

const answer = (made: BundlesMade): unknown => process.send?.(made);

process.once('message', (asked: BundlesAsked) => {
  bundle(asked).then(
    (bundles) => answer({ bundles }),
    (thrown: unknown) => answer({ failed: toError(thrown).message }),
  );
});

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { delimiter, dirname, resolve } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { ensurePathTool } from '../../dev/cluster/path-tools.ts';

/* The commands of a page of docs/runbooks, as somebody who reads it pastes them into a shell. */

/** A page, and words by which the entry of its list of cures is found. */
export type CurePage = { file: string; entry: string };

const PAGES = resolve('docs/runbooks');

/** Returns the text below a heading of a page. */
function sectionOf(text: string, heading: string): string {
  const [, section] = text.split(new RegExp(`^## ${heading}$`, 'm'));
  return section?.split(/^## /m)[0] ?? '';
}

/** Returns the entries of a list. The lines of an entry are indented by two blanks. */
const entriesOf = (section: string): string[] =>
  section
    .split(/^- /m)
    .slice(1)
    .map((entry) => entry.replaceAll(/^ {2}/gm, ''));

/** Returns the blocks of commands in a text. */
const blocksIn = (text: string): string[] =>
  [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block);

/** Returns the commands of an entry under "Cure". Fails if the page has no such entry, or the entry no commands. */
export function commandsIn(text: string, { file, entry }: CurePage): string {
  const found = entriesOf(sectionOf(text, 'Cure')).filter((one) => one.includes(entry));
  if (found.length !== 1) throw new Error(`${file} has ${found.length} cures with "${entry}"`);
  const blocks = blocksIn(found[0]!);
  if (blocks.length === 0) throw new Error(`${file} has no commands in the cure with "${entry}"`);
  return blocks.join('\n');
}

type Tools = { kubectl: string; kubeconfig: string };

/** Runs the commands of a page with the variables that it asks its reader to set. Returns what they printed. */
export async function cureBy(
  page: CurePage,
  variables: Record<string, string>,
  { kubectl, kubeconfig }: Tools,
): Promise<string> {
  const commands = commandsIn(readFileSync(resolve(PAGES, page.file), 'utf8'), page);
  const helm = await ensurePathTool('helm', () => undefined);
  const folders = [dirname(kubectl), dirname(helm), process.env['PATH'] ?? ''];
  const env = {
    ...process.env,
    ...variables,
    PATH: folders.join(delimiter),
    KUBECONFIG: kubeconfig,
  };
  const run = promisify(execFile)('bash', ['-euo', 'pipefail', '-c', commands], {
    env,
    timeout: 600_000,
  });
  // A command such as `kubectl run --stdin` waits for the end of its input.
  run.child.stdin?.end();
  return (await run).stdout;
}

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { ensureTools } from '../../dev/cluster/parts.ts';

/*
 * How other tools judge a resource: kstatus, by which Flux and many others wait, and Argo CD with the script of
 * config/argocd. Both are the originals in Go. The first use builds them.
 */

export type Verdict = {
  status: 'InProgress' | 'Failed' | 'Current' | 'Terminating' | 'Unknown' | 'NotFound';
  health: string;
  message: string;
};

const run = promisify(execFile);
const configMap = join(import.meta.dirname, '../../config/argocd/argocd-cm.yaml');
const NOTHING = 'return { status = "", message = "" }';

/** Returns the verdict on each object, in their order. */
export async function verdicts(objects: { kind: string }[]): Promise<Verdict[]> {
  const { verdict } = await ensureTools(['verdict']);
  const { data } = parse(readFileSync(configMap, 'utf8')) as { data: Record<string, string> };
  const questions = objects.map((object) => ({
    object,
    health: data[`resource.customizations.health.gx.dev_${object.kind}`] ?? NOTHING,
  }));
  const running = run(verdict, [], { maxBuffer: 16 * 1024 * 1024 });
  running.child.stdin?.end(questions.map((question) => `${JSON.stringify(question)}\n`).join(''));
  const { stdout } = await running;
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Verdict);
}

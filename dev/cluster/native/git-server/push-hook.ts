import { createHmac } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { text } from 'node:stream/consumers';

/*
 * Git's own hook `post-receive` of a repository here: it reports each pushed branch as GitHub does, in a body that is
 * signed with the secret of the webhook. Git runs it in the repository's folder, and shows its lines to the pusher.
 */

/** Where the events of a repository's pushes go: a file of the repository's folder. */
export const HOOK_FILE = 'push-events.json';

export type Hook = { url: string; secret: string };

/** Milliseconds that a receiver has, as GitHub gives it. */
const PATIENCE_MS = 10_000;

type Push = { before: string; after: string; ref: string };

/** Reads the lines that git gives the hook: the commit before, the one after, and the ref. */
const readPushes = (lines: string): Push[] =>
  lines
    .split('\n')
    .filter(Boolean)
    .map((line) => {
      const [before = '', after = '', ref = ''] = line.split(' ');
      return { before, after, ref };
    });

const isNothing = (commit: string): boolean => /^0+$/.test(commit);

/** Returns the event of a push with the fields that GitHub documents and receivers read. */
const buildPushEvent = ({ before, after, ref }: Push, repository: string): object => ({
  ref,
  before,
  after,
  created: isNothing(before),
  deleted: isNothing(after),
  repository: {
    name: basename(repository),
    full_name: repository,
    private: true,
    default_branch: 'main',
  },
});

async function send({ url, secret }: Hook, event: object): Promise<string> {
  const body = JSON.stringify(event);
  const headers = {
    'content-type': 'application/json',
    'x-github-event': 'push',
    'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
  };
  const answer = await fetch(url, {
    method: 'POST',
    headers,
    body,
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  return `the webhook answered ${answer.status}`;
}

async function main([repository = '']: string[]): Promise<void> {
  const file = join(process.cwd(), HOOK_FILE);
  if (!existsSync(file)) return;
  const hook = JSON.parse(readFileSync(file, 'utf8')) as Hook;
  for (const push of readPushes(await text(process.stdin))) {
    const outcome = await send(hook, buildPushEvent(push, repository)).catch(
      (error: Error) => `the webhook did not answer: ${error.message}`,
    );
    process.stderr.write(`${push.ref}: ${outcome}\n`);
  }
}

if (import.meta.main) await main(process.argv.slice(2));

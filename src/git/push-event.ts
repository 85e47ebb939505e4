import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { GitKind } from '../schema/platform/git-integration.ts';
import { isComposite } from '../schema/json.ts';

/** The contents of a push event: the branch, the commit that it now has, and the repository below its host. */
export type PushEvent = { branch: string; commit: string; repository: string };

const headerOf = (headers: IncomingHttpHeaders, name: string): string => [headers[name]].flat()[0] ?? '';

/** Where each kind of host puts its proof: an HMAC of the body (SHA-256, hexadecimal), or GitLab's plain token. */
const SIGNATURES: Record<Exclude<GitKind, 'gitlab'>, { header: string; prefix: string }> = {
  github: { header: 'x-hub-signature-256', prefix: 'sha256=' },
  gitea: { header: 'x-gitea-signature', prefix: '' },
  generic: { header: 'x-gx-signature-256', prefix: 'sha256=' },
};
const GITLAB_TOKEN = 'x-gitlab-token';

/** Compares texts in a time that reveals nothing about either, whatever their lengths. */
function isEqual(one: string, other: string): boolean {
  const [a, b] = [one, other].map((text) => createHash('sha256').update(text).digest());
  return timingSafeEqual(a as Buffer, b as Buffer);
}

/** Returns true if the sender of the body knows the secret of the webhook. */
export function isSignedBy(secret: string, kind: GitKind, { headers, body }: { headers: IncomingHttpHeaders; body: Uint8Array }): boolean {
  if (kind === 'gitlab') return isEqual(headerOf(headers, GITLAB_TOKEN), secret);
  const { header, prefix } = SIGNATURES[kind];
  const wanted = `${prefix}${createHmac('sha256', secret).update(body).digest('hex')}`;
  return isEqual(headerOf(headers, header), wanted);
}

/** Headers that name the event, and their value for a push. Without one, the body says it. */
const EVENTS: Partial<Record<GitKind, { header: string; push: string }>> = {
  github: { header: 'x-github-event', push: 'push' },
  gitea: { header: 'x-gitea-event', push: 'push' },
  gitlab: { header: 'x-gitlab-event', push: 'Push Hook' },
};

const BRANCH = 'refs/heads/';
const COMMIT = /^[0-9a-f]{40,64}$/;
const NO_COMMIT = /^0+$/;

const part = (value: unknown, name: string): unknown => (isComposite(value) ? value[name] : undefined);

/** Returns the push of a branch, or why the event means nothing here. */
export function pushIn(kind: GitKind, headers: IncomingHttpHeaders, payload: unknown): PushEvent | { ignored: string } {
  const other = otherEvent(kind, headers);
  if (other !== undefined) return { ignored: `It is no push to a branch, but: ${other}.` };
  const [ref, commit, repository] = [part(payload, 'ref'), part(payload, 'after'), repositoryIn(kind, payload)];
  if (typeof ref !== 'string') return { ignored: 'It names no ref.' };
  if (!ref.startsWith(BRANCH)) return { ignored: 'Only pushes to branches make revisions.' };
  if (typeof commit !== 'string' || !COMMIT.test(commit) || repository === undefined)
    return { ignored: 'It names no commit or no repository.' };
  if (part(payload, 'deleted') === true || NO_COMMIT.test(commit)) return { ignored: 'The branch was deleted.' };
  return { branch: ref.slice(BRANCH.length), commit, repository };
}

/** Returns the name of an event that is no push. */
function otherEvent(kind: GitKind, headers: IncomingHttpHeaders): string | undefined {
  const named = EVENTS[kind];
  const event = named && headerOf(headers, named.header);
  return named === undefined || event === named.push ? undefined : event?.slice(0, 50) || 'unnamed';
}

function repositoryIn(kind: GitKind, payload: unknown): string | undefined {
  const path = kind === 'gitlab' ? part(part(payload, 'project'), 'path_with_namespace') : part(part(payload, 'repository'), 'full_name');
  return typeof path === 'string' && path !== '' ? path : undefined;
}

import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { GitKind } from '../schema/platform/source/git-integration.ts';
import { isComposite } from '../schema/json.ts';

const readHeader = (headers: IncomingHttpHeaders, name: string): string =>
  [headers[name]].flat()[0] ?? '';

/**
 * The contents of a push event: the branch, the commit that it now has, and the repository below its host. The host's
 * id of a repository stays when it is renamed or moved.
 */
export type PushEvent = {
  branch: string;
  commit: string;
  repository: string;
  repositoryId?: string;
};

type Delivery = { headers: IncomingHttpHeaders; body: Uint8Array };

/** GitHub's default form of events, which Gitea offers, too: the JSON is the field `payload`. */
const FORM = 'application/x-www-form-urlencoded';

/** Returns the JSON of an event as a text, whichever of the two forms the host sends. */
export function readPayload({ headers, body }: Delivery): string {
  const text = Buffer.from(body).toString('utf8');
  const isForm = readHeader(headers, 'content-type').split(';')[0]?.trim().toLowerCase() === FORM;
  return isForm ? (new URLSearchParams(text).get('payload') ?? '') : text;
}

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
export function isSignedBy(secret: string, kind: GitKind, { headers, body }: Delivery): boolean {
  if (kind === 'gitlab') return isEqual(readHeader(headers, GITLAB_TOKEN), secret);
  const { header, prefix } = SIGNATURES[kind];
  // Gitea signs the JSON, and the others the whole body.
  const signed = kind === 'gitea' ? readPayload({ headers, body }) : body;
  const wanted = `${prefix}${createHmac('sha256', secret).update(signed).digest('hex')}`;
  return isEqual(readHeader(headers, header), wanted);
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
const REPOSITORY_ID = /^[\w:.{}-]{1,100}$/;

const getPart = (value: unknown, name: string): unknown =>
  isComposite(value) ? value[name] : undefined;

/** Returns the push of a branch, or why the event means nothing here. */
export function parsePush(
  kind: GitKind,
  headers: IncomingHttpHeaders,
  payload: unknown,
): PushEvent | { ignored: string } {
  const other = readOtherEvent(kind, headers);
  if (other !== undefined) return { ignored: `It is not a push to a branch: ${other}.` };
  const source = getPart(payload, kind === 'gitlab' ? 'project' : 'repository');
  const [ref, commit, repository] = [
    getPart(payload, 'ref'),
    getPart(payload, 'after'),
    getPart(source, kind === 'gitlab' ? 'path_with_namespace' : 'full_name'),
  ];
  if (typeof ref !== 'string') return { ignored: 'It names no ref.' };
  if (!ref.startsWith(BRANCH)) return { ignored: 'Only pushes to branches make revisions.' };
  if (
    typeof commit !== 'string' ||
    !COMMIT.test(commit) ||
    typeof repository !== 'string' ||
    repository === ''
  )
    return { ignored: 'It names no commit or no repository.' };
  if (getPart(payload, 'deleted') === true || NO_COMMIT.test(commit))
    return { ignored: 'The branch was deleted.' };
  const id = getPart(source, 'id');
  const isId = typeof id === 'number' || (typeof id === 'string' && REPOSITORY_ID.test(id));
  return {
    branch: ref.slice(BRANCH.length),
    commit,
    repository,
    ...(isId && { repositoryId: String(id) }),
  };
}

function readOtherEvent(kind: GitKind, headers: IncomingHttpHeaders): string | undefined {
  const named = EVENTS[kind];
  const event = named && readHeader(headers, named.header);
  return named === undefined || event === named.push ? undefined : event?.slice(0, 50) || 'unnamed';
}

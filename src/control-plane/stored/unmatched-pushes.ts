import { Conflict, limitText, Forbidden, NotFound } from '../../errors.ts';
import { kinds, type Kube } from '../../kube/kube.ts';
import type { GitIntegrationResource } from '../../schema/platform/custom-resources.ts';
import { isObject, parseJsonOr } from '../../schema/json.ts';
import { UNMATCHED_PUSH } from '../../schema/platform/labels.ts';
import { formatKubernetesTime } from '../../schema/types.ts';
import { buildJsonPatch } from '../json-patch.ts';

/** Characters of a name in an event that are remembered: its sender chooses it, and an event may have megabytes. */
const LONGEST_NAME = 300;
/** Milliseconds between two writes to a connection: a webhook of a whole organization tells of all its pushes. */
const WRITE_MS = 60_000;

type Connection = { id: string; resource: GitIntegrationResource | undefined };

export type UnmatchedPush = { repository: string; branch: string; at: string };

/**
 * Remembers the last push event of each connection that was for no deployment. It stands at the resource, so that each
 * replica knows it; of connections in the settings, only the replica that took the event knows.
 */
export class UnmatchedPushes {
  readonly #kube: Pick<Kube, 'patchJson'>;
  readonly #here = new Map<string, UnmatchedPush>();

  constructor(kube: Pick<Kube, 'patchJson'>) {
    this.#kube = kube;
  }

  /** Remembers an event. Returns the resource if it was written. */
  async note(
    { id, resource }: Connection,
    push: { repository: string; branch: string; at: Date },
  ): Promise<GitIntegrationResource | undefined> {
    const noted = {
      repository: limitText(push.repository, LONGEST_NAME),
      branch: limitText(push.branch, LONGEST_NAME),
      at: formatKubernetesTime(push.at),
    };
    this.#here.set(id, noted);
    const written = parseUnmatched(resource);
    if (
      resource === undefined ||
      (written !== undefined && push.at.getTime() - Date.parse(written.at) < WRITE_MS)
    )
      return undefined;
    const { namespace, name, annotations } = resource.metadata;
    const { [UNMATCHED_PUSH]: _former, ...others } = annotations ?? {};
    const patch = buildJsonPatch(
      annotations && others,
      { ...others, [UNMATCHED_PUSH]: JSON.stringify(noted) },
      '/metadata/annotations',
    );
    try {
      return await this.#kube.patchJson(kinds.gitIntegration, { namespace, name }, patch);
    } catch (error) {
      // It is gone, or the Role is that of an earlier release. The event itself was read.
      if (error instanceof Conflict || error instanceof NotFound || error instanceof Forbidden)
        return undefined;
      throw error;
    }
  }

  /** Returns the last event of a connection that was for no deployment, as far as this process knows. */
  findLast({ id, resource }: Connection): UnmatchedPush | undefined {
    const [written, here] = [parseUnmatched(resource), this.#here.get(id)];
    return written !== undefined &&
      (here === undefined || Date.parse(written.at) > Date.parse(here.at))
      ? written
      : here;
  }

  keepOnly(ids: ReadonlySet<string>): void {
    for (const id of this.#here.keys()) if (!ids.has(id)) this.#here.delete(id);
  }
}

/** Returns the event that a resource names. Undefined if it names none, or somebody wrote nonsense there. */
function parseUnmatched(resource: GitIntegrationResource | undefined): UnmatchedPush | undefined {
  const value = parseJsonOr(resource?.metadata.annotations?.[UNMATCHED_PUSH] ?? '', undefined);
  if (!isObject(value)) return undefined;
  const { repository, branch, at } = value;
  if (
    typeof repository !== 'string' ||
    typeof branch !== 'string' ||
    typeof at !== 'string' ||
    Number.isNaN(Date.parse(at))
  )
    return undefined;
  return { repository, branch, at };
}

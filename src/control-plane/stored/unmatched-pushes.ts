import { Conflict, limitText, Forbidden, NotFound } from '../../errors.ts';
import { kinds } from '../../kube/kinds.ts';
import type { Kube } from '../../kube/kube.ts';
import type { GitIntegrationResource } from '../../schema/platform/resources/custom-resources.ts';
import { parseJsonOr } from '../../schema/json.ts';
import { UNMATCHED_PUSH } from '../../schema/platform/objects/labels.ts';
import { formatKubernetesTime } from '../../schema/types.ts';
import { buildJsonPatch } from '../json-patch.ts';
import { parseUnmatched, SharedPushRecord, type UnmatchedPush } from './shared-pushes.ts';

/** Characters of a name in an event that are remembered: its sender chooses it, and an event may have megabytes. */
const LONGEST_NAME = 300;
/** Milliseconds between two writes to a connection: a webhook of a whole organization tells of all its pushes. */
const WRITE_MS = 60_000;

type Connection = { id: string; tenantId: string; resource: GitIntegrationResource | undefined };
type Place = { kube: Kube; namespace: string };

/**
 * Remembers the last push event of each connection that was for no deployment. It stands at the resource, or for all
 * connections of the settings in one record, so that each replica knows it.
 */
export class UnmatchedPushes {
  readonly #kube: Place['kube'];
  readonly #record: SharedPushRecord;
  readonly #here = new Map<string, UnmatchedPush>();
  /** When the last event of a connection of the settings was written, in milliseconds since 1970. */
  readonly #written = new Map<string, number>();

  constructor(place: Place) {
    this.#kube = place.kube;
    this.#record = new SharedPushRecord(place);
  }

  /** Remembers an event of one of these connections. Returns the resource if it was written. */
  async note(
    { id, tenantId, resource }: Connection,
    push: { repository: string; branch: string; at: Date },
    known: ReadonlySet<string>,
  ): Promise<GitIntegrationResource | undefined> {
    for (const other of this.#here.keys())
      if (!known.has(other)) {
        this.#here.delete(other);
        this.#written.delete(other);
      }
    const noted = {
      repository: limitText(push.repository, LONGEST_NAME),
      branch: limitText(push.branch, LONGEST_NAME),
      at: formatKubernetesTime(push.at),
    };
    this.#here.set(id, noted);
    const at = push.at.getTime();
    if (resource !== undefined) {
      const written = parseAnnotation(resource);
      return written !== undefined && at - Date.parse(written.at) < WRITE_MS
        ? undefined
        : this.#annotate(resource, noted);
    }
    if (at - (this.#written.get(id) ?? -Infinity) < WRITE_MS) return undefined;
    this.#written.set(id, at);
    await this.#record.write(id, { ...noted, tenant: tenantId }, known);
    return undefined;
  }

  async #annotate(
    { metadata }: GitIntegrationResource,
    noted: UnmatchedPush,
  ): Promise<GitIntegrationResource | undefined> {
    const { namespace, name, annotations } = metadata;
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
  async findLast({ id, tenantId, resource }: Connection): Promise<UnmatchedPush | undefined> {
    const written =
      resource === undefined
        ? await this.#record.findLast(id, tenantId)
        : parseAnnotation(resource);
    const here = this.#here.get(id);
    return written !== undefined &&
      (here === undefined || Date.parse(written.at) > Date.parse(here.at))
      ? written
      : here;
  }
}

/** Returns the event that a resource names. Undefined if it names none, or somebody wrote nonsense there. */
const parseAnnotation = ({ metadata }: GitIntegrationResource): UnmatchedPush | undefined =>
  parseUnmatched(parseJsonOr(metadata.annotations?.[UNMATCHED_PUSH] ?? '', undefined));

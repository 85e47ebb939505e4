import { createGunzip } from 'node:zlib';
import { kinds } from '../../kube/kube.ts';
import type { RevisionResource } from '../../schema/platform/custom-resources.ts';
import { BUILD_LOG_KEY, BUILD_STAGES } from '../../schema/names.ts';
import type { ControlPlane } from '../control-plane.ts';
import type { Line } from './best-lines.ts';
import { linesOf, stageId } from './lines.ts';

/** Bytes that are unpacked of a log. The operator keeps less, so more would be somebody else's. */
const MOST_BYTES = 32 * 1024 * 1024;
/** Bytes that are unpacked, parsed and left again at a time. */
const PIECE = 256 * 1024;
/** Characters of a line. A longer one is left out. */
const LONGEST = 1024 * 1024;

/** A stage stands between the time and the text of its lines. */
const STAGED = new RegExp(`^\\S+ \\[(${BUILD_STAGES.join('|')})\\] `);

/**
 * Reads the log of a build that has ended from the ConfigMap where the operator has kept it, piece by piece. There are
 * no pieces where nothing is kept.
 */
export async function* keptBuildLog(
  { kube }: Pick<ControlPlane, 'kube'>,
  { metadata, status }: RevisionResource,
  signal: AbortSignal,
): AsyncGenerator<Line[]> {
  const name = status?.buildLog;
  if (name === undefined) return;
  const kept = await kube.find(kinds.configMap, { namespace: metadata.namespace, name }, signal);
  const packed = kept?.binaryData?.[BUILD_LOG_KEY];
  // Only the revision's own counts: a name in a status may be anybody's.
  const isOwn = kept?.metadata.ownerReferences?.some(({ uid }) => uid === metadata.uid) === true;
  if (packed === undefined || !isOwn) return;
  const stages = new StagedLines();
  for await (const text of unpacked(Buffer.from(packed, 'base64'))) yield* stages.linesOf(text);
}

/** Parses the lines of all stages, which come in pieces. */
class StagedLines {
  /** By stage: how many lines of its last time have come. */
  readonly #times = new Map<string, Map<string, number>>();

  *linesOf(text: string): Generator<Line[]> {
    for (const [stage, lines] of Map.groupBy(text.split('\n'), (line) => STAGED.exec(line)?.[1])) {
      if (stage === undefined) continue;
      const times = this.#times.get(stage) ?? new Map<string, number>();
      yield linesOf(lines.join('\n'), stageId(stage), times);
      // Lines of one time stand together, so the last time is enough to go on.
      this.#times.set(stage, new Map([...times].slice(-1)));
    }
  }
}

/** Unpacks a text into pieces of whole lines. It ends at bytes that can't be unpacked. */
async function* unpacked(packed: Buffer): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  const gunzip = createGunzip({ chunkSize: PIECE });
  gunzip.end(packed);
  let [rest, bytes] = ['', 0];
  try {
    for await (const chunk of gunzip as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > MOST_BYTES) break;
      const text = rest + decoder.decode(chunk, { stream: true });
      const end = text.lastIndexOf('\n') + 1;
      if (end > 0) yield text.slice(0, end);
      rest = text.length - end > LONGEST ? '' : text.slice(end);
    }
  } catch {
    return;
  }
  if (rest !== '') yield rest;
}

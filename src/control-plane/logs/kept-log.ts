import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { kinds } from '../../kube/kube.ts';
import type { RevisionResource } from '../../schema/custom-resources.ts';
import { BUILD_LOG_KEY, BUILD_STAGES } from '../../schema/names.ts';
import type { ControlPlane } from '../control-plane.ts';
import { linesOf, stageId, type Line } from './lines.ts';

const unpacked = promisify(gunzip);
/** Bytes of a log that is unpacked. The operator keeps less, so more would be somebody else's. */
const MOST_BYTES = 32 * 1024 * 1024;

/** Reads the log of a build that has ended from the ConfigMap where the operator has kept it. */
export async function keptBuildLog(
  { kube }: Pick<ControlPlane, 'kube'>,
  { metadata, status }: RevisionResource,
  signal: AbortSignal,
): Promise<Line[]> {
  const name = status?.buildLog;
  if (name === undefined) return [];
  const kept = await kube.find(kinds.configMap, { namespace: metadata.namespace, name }, signal);
  const packed = kept?.binaryData?.[BUILD_LOG_KEY];
  // Only the revision's own counts: a name in a status may be anybody's.
  const isOwn = kept?.metadata.ownerReferences?.some(({ uid }) => uid === metadata.uid) === true;
  if (packed === undefined || !isOwn) return [];
  const text = await unpacked(Buffer.from(packed, 'base64'), { maxOutputLength: MOST_BYTES }).catch(() => Buffer.alloc(0));
  const lines = text.toString('utf8').split('\n');
  return BUILD_STAGES.flatMap((stage) => linesOf(lines.filter((line) => line.includes(` [${stage}] `)).join('\n'), stageId(stage)));
}

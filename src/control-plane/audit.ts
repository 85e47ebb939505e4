import type { Route } from '../http/routes/route.ts';
import type { Answered, RequestState } from '../http/server/server.ts';
import type { Log } from '../log.ts';
import type { Caller } from './caller.ts';

type Fields = Record<string, unknown>;

/**
 * Writes one line for each request of a known caller that writes or makes a pass, also for one that is refused. Lines
 * are written whatever the level of the log.
 */
export function buildAuditor(log: Log): (answer: Answered<Caller>) => void {
  const lines = log.child({ audit: true }, { level: 'info' });
  return (answer) => {
    const line = buildAuditLine(answer);
    if (line !== undefined) lines.info(line, 'audit');
  };
}

function buildAuditLine({
  asked,
  status,
  requestId,
  source,
}: Answered<Caller>): Fields | undefined {
  const { caller } = asked ?? {};
  if (asked === undefined) return undefined;
  if (isSignedEvent(asked, status))
    return {
      action: asked.route.id,
      ...listObjects(asked),
      ...end(status),
      source,
      request_id: requestId,
    };
  if (caller === undefined || !isOnRecord(asked.route)) return undefined;
  if ((asked.query as Fields | undefined)?.dry_run === true) return undefined;
  const { keyId, keyName, tenantId, role } = caller;
  return {
    action: asked.route.id,
    ...listObjects(asked),
    ...(keyId === undefined ? { subject: keyName } : { key_id: keyId, key_name: keyName }),
    tenant_id: tenantId,
    role,
    ...end(status),
    source,
    request_id: requestId,
  };
}

const isOnRecord = ({ access, audited }: Route<Caller>): boolean =>
  audited === true || access === 'write' || access === 'admin';

/** Returns true for an event that came without a key and was taken, because it was signed. Others leave no line. */
const isSignedEvent = ({ route }: RequestState<Caller>, status: number): boolean =>
  route.access === 'open' && route.method === 'post' && status < 400;

const end = (status: number): Fields => ({
  outcome: status < 400 ? 'done' : status < 500 ? 'refused' : 'failed',
  status,
});

/** Returns the request's objects: the ids of its path, and those that its answer shows. */
function listObjects({ params: given, query, reply }: RequestState<Caller>): Fields {
  const params = (given ?? {}) as Fields;
  const { deployment_ids: ids } = (query ?? {}) as Fields;
  const shown = reply?.kind === 'json' ? (reply.body as Fields) : {};
  const bulk = ids === undefined ? {} : { ids, deleted: shown.deleted, failed: shown.failed };
  return { ...params, id: shown.id ?? Object.values(params).at(-1), ...bulk };
}

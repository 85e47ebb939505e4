import type { CallContext, Caller } from '../caller.ts';
import { retryConflicts } from '../conflict-retry.ts';
import type { ControlPlane } from '../control-plane.ts';
import { answerForDeployment } from './answers.ts';
import { listTenantNamespaces, readDeployment } from './lookup.ts';
import { toDatabaseSpec, toSpec, toWanted } from './resource.ts';
import { deriveLaterTime } from './later-time.ts';
import { requireCluster, requireRules } from './rule-table.ts';
import { type WantedDeployment, applyPatch, needsRevision, stripEcho } from './rules.ts';
import { buildJsonPatch } from '../json-patch.ts';
import { callKube } from '../kube-refusal.ts';
import { buildRequestedByPatch } from '../requested-by.ts';
import { annotateRevision } from '../revisions/asked.ts';
import { makeRevision } from '../revisions/make.ts';
import { randomUUID } from 'node:crypto';
import { Conflict, Problem, Rejected } from '../../errors.ts';
import { kinds } from '../../kube/kinds.ts';
import type { Ref } from '../../kube/kube.ts';
import type { BackupSpec } from '../../schema/platform/backup/backup-spec.ts';
import type {
  DeploymentResource,
  DeploymentSpec,
  RevisionResource,
} from '../../schema/platform/resources/custom-resources.ts';
import type {
  Deployment,
  DeploymentPatchRequest,
  RolloutMoveRequest,
} from '../../schema/platform/deployment/deployment.ts';
import { ROLLOUT } from '../../schema/platform/objects/labels.ts';
import {
  parseRolloutMove,
  moveText,
  type RolloutMove,
} from '../../schema/platform/rollout/rollout-move.ts';

export type PatchOptions = {
  id: string;
  dryRun: boolean;
  ifMatch?: string | undefined;
  alwaysRevision?: boolean;
};

type Step = {
  tenantId: string;
  deployment: DeploymentResource;
  wanted: WantedDeployment;
  secrets: DeploymentPatchRequest['secrets'];
  revision: boolean;
  move: PlannedMove | undefined;
};

/** Merges a patch into the stored deployment, and makes a revision when the patch asks for one. */
export async function patchDeployment(
  plane: ControlPlane,
  body: DeploymentPatchRequest,
  call: CallContext,
  options: PatchOptions,
): Promise<DeploymentResource> {
  const made: StoredSecret = {};
  try {
    return await retryConflicts(
      () => decide(plane, body, call, options),
      async (step) => {
        const stored = await write(plane, step, { options, made, caller: call.caller });
        const { namespace } = stored.metadata;
        const { move } = step;
        if (move !== undefined && !options.dryRun)
          await callKube(() => moveRollout(plane, { ...move, namespace }, call.caller));
        return stored;
      },
    );
  } catch (error) {
    // When the answer was lost, the patch may stand and need its Secret. The operator removes Secrets that nothing
    // refers to.
    const refused = error instanceof Problem && error.status < 500;
    if (refused && made.ref !== undefined)
      await plane.kube.delete(kinds.secret, made.ref).catch(() => false);
    throw error;
  }
}

/** Returns the objects to write. Throws if a rule forbids it. */
async function decide(
  plane: ControlPlane,
  body: DeploymentPatchRequest,
  call: CallContext,
  options: PatchOptions,
): Promise<Step> {
  const deployment = await readDeployment(plane, options.id, call);
  if (deployment.metadata.deletionTimestamp !== undefined)
    throw new Conflict(`Deployment ID ${options.id} is being deleted.`);
  checkVersion(deployment, options.ifMatch);
  const current: Deployment = await answerForDeployment(plane, deployment, call);
  const patch = stripEcho(current, body);
  const wanted = applyPatch(toWanted(deployment), patch);
  const revision = options.alwaysRevision === true || needsRevision(patch);
  const change = {
    kind: 'patch',
    sent: patch,
    before: { resource: deployment, answer: current },
    wanted,
    // A revision starts pods with the whole template, of which kubectl may have written a part.
    startsPods: revision,
  } as const;
  requireRules(change, {
    config: plane.config,
    namespaces: listTenantNamespaces(plane, call.caller),
    now: new Date(),
  });
  const move = planMoveAlone(deployment, { asked: body.rollout, revision });
  const { name, namespace = '' } = deployment.metadata;
  await requireCluster(plane, change, { name, namespace, ...call });
  return {
    tenantId: call.caller.tenantId,
    deployment,
    wanted,
    secrets: patch.secrets,
    revision,
    move,
  };
}

/** Returns the move of a rollout that a patch asks for. A new revision would take the place of the one that moves. */
function planMoveAlone(
  deployment: Parameters<typeof planMove>[0],
  { asked, revision }: { asked: DeploymentPatchRequest['rollout']; revision: boolean },
): PlannedMove | undefined {
  const move = planMove(deployment, asked);
  if (move !== undefined && revision)
    throw new Rejected(
      'rollout: not together with fields that make a revision, which takes its place',
    );
  return move;
}

/** Returns the version of a deployment's spec, for If-Match. A change of status alone is no conflict. */
export const buildEtag = ({ metadata }: DeploymentResource): string =>
  `"${metadata.uid}.${metadata.generation}"`;

/** Throws a 412 unless `If-Match` names the version of the deployment's spec, or is absent. */
export function checkVersion(deployment: DeploymentResource, ifMatch: string | undefined): void {
  if (ifMatch === undefined || ifMatch.trim() === '*') return;
  const given = ifMatch.split(',').map((tag) => tag.trim());
  if (!given.includes(buildEtag(deployment)))
    throw new Problem(412, 'The deployment has changed since it was read.');
}

/** The Secret of this request, once it is stored. Further attempts use the same one. */
type StoredSecret = { ref?: Ref | undefined };
type Write = { options: PatchOptions; made: StoredSecret; caller: Caller };

async function write(
  plane: ControlPlane,
  step: Step,
  { options, made, caller }: Write,
): Promise<DeploymentResource> {
  const { metadata } = step.deployment;
  const secretName = await ensureSecret(plane.secrets, step, { options, made, caller });
  const spec = buildPatchedSpec(step, { secretName, now: plane.now() });
  const changes = buildJsonPatch(step.deployment.spec, spec, '/spec');
  if (changes.length === 0) return step.deployment;
  const guard = {
    op: 'replace',
    path: '/metadata/resourceVersion',
    value: metadata.resourceVersion,
  } as const;
  const ref = { namespace: metadata.namespace, name: metadata.name };
  const patch = [guard, ...changes, ...buildRequestedByPatch(metadata, caller)];
  const stored = await callKube(() =>
    plane.kube.patchJson(kinds.deployment, ref, patch, { dryRun: options.dryRun }),
  );
  if (options.dryRun) return stored;
  if (step.revision) await makeRevision(plane, stored, caller);
  return plane.stored.note.deployment(stored);
}

async function ensureSecret(
  values: ControlPlane['secrets'],
  { deployment, tenantId, secrets }: Step,
  { options, made, caller }: Write,
): Promise<string | undefined> {
  const before = deployment.spec.template.secretName;
  if (secrets === null || secrets === undefined || options.dryRun) return before;
  if (secrets.length === 0) return undefined;
  const { name, namespace = '' } = deployment.metadata;
  const owner = { deployment: name, namespace, tenantId };
  made.ref ??= {
    namespace,
    name: await callKube(() => values.store(owner, { secrets, nonce: randomUUID(), caller })),
  };
  return made.ref.name;
}

function buildPatchedSpec(
  { deployment, wanted, revision }: Step,
  { secretName, now }: { secretName: string | undefined; now: Date },
): DeploymentSpec {
  const { rollbackOf, ...before } = deployment.spec;
  const {
    sourceConfig: _config,
    template: _template,
    rollout: _rollout,
    database: { placement: _place, backup, ...database } = {},
    ...kept
  } = before;
  const databaseAfter = toDatabaseSpec(wanted);
  const databaseNow = {
    ...database,
    ...databaseAfter,
    ...(databaseAfter.backup && {
      backup: { ...pickBackupRequest(backup), ...databaseAfter.backup },
    }),
  };
  const asked = toSpec(wanted, { listener: before.sourceConfig?.listener, secretName });
  const requestedAt = revision ? deriveLaterTime(before.requestedAt, now) : before.requestedAt;
  return {
    ...kept,
    ...asked,
    ...((before.database !== undefined || Object.keys(databaseNow).length > 0) && {
      database: databaseNow,
    }),
    ...(requestedAt !== undefined && { requestedAt }),
    ...(!revision && rollbackOf !== undefined && { rollbackOf }),
  };
}

/** Returns the fields of backups that REST's settings leave as they are: the last request, and the method. */
const pickBackupRequest = ({
  requestedAt,
  method,
}: Partial<BackupSpec> = {}): Partial<BackupSpec> => ({
  ...(requestedAt !== undefined && { requestedAt }),
  ...(method !== undefined && { method }),
});

type PlannedMove = { move: RolloutMove; revision: string };

/** Returns the move that a patch asks of a rollout by share. Undefined: nothing. Throws if it can't be done. */
function planMove(
  { status }: DeploymentResource,
  asked: RolloutMoveRequest | null | undefined,
): PlannedMove | undefined {
  if (asked === null || asked === undefined) return undefined;
  const move = moveAsked(asked);
  const field = typeof move === 'number' ? 'share' : move;
  const { candidate, aborted } = status?.rollout ?? {};
  if (candidate === undefined) {
    const why =
      aborted === undefined
        ? 'no rollout is under way'
        : `the rollout of revision ${aborted.revision} was aborted`;
    throw new Rejected(`rollout.${field}: ${why}`);
  }
  if (candidate.promoted === true)
    throw new Rejected(`rollout.${field}: revision ${candidate.revision} is about to serve`);
  if (typeof move === 'number' && move <= candidate.share)
    throw new Rejected(`rollout.share: must be above ${candidate.share}, which it is now`);
  return { move, revision: candidate.revision };
}

/** Returns the one move of a request. Throws if it has none, or several. */
function moveAsked({ share, promote, abort }: RolloutMoveRequest): RolloutMove {
  const moves: RolloutMove[] = [
    ...(typeof share === 'number' ? [share] : []),
    ...(promote === true ? (['promote'] as const) : []),
    ...(abort === true ? (['abort'] as const) : []),
  ];
  const [move] = moves;
  if (move === undefined || moves.length > 1)
    throw new Rejected('rollout: needs exactly one of share, promote: true and abort: true');
  return move;
}

const moveRollout = (
  plane: ControlPlane,
  { namespace, move, revision }: PlannedMove & { namespace: string | undefined },
  caller: Caller,
): Promise<RevisionResource> =>
  annotateRevision(
    plane,
    { revision: { namespace, name: revision }, caller },
    ({ metadata: { annotations } }) => {
      const before = parseRolloutMove(annotations?.[ROLLOUT]);
      if (before === 'abort' || before === 'promote')
        throw new Rejected(`rollout: someone has already requested ${before}`);
      return { [ROLLOUT]: moveText(move) };
    },
  );

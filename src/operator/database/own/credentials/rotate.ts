import { randomBytes } from 'node:crypto';
import { kinds } from '../../../../kube/kinds.ts';
import type { KubeObject } from '../../../../kube/kube.ts';
import { PASSWORD_ROTATED } from '../../../../schema/platform/objects/conditions.ts';
import type { DeploymentResource } from '../../../../schema/platform/resources/custom-resources.ts';
import { PASSWORD_TASK } from '../../../../schema/platform/objects/labels.ts';
import { isReplacing } from '../../../../schema/platform/backup/replacement.ts';
import { names } from '../../../../schema/names.ts';
import { findCondition } from '../../../kernel/conditions.ts';
import type { StatedCondition } from '../../../kernel/outcome.ts';
import { findWorstDiagnosis, getPodStatus } from '../../../pods/diagnose.ts';
import { readPodlessJobState } from '../../../pods/follow-job.ts';
import { findEnd, type JobHindrance } from '../../../pods/job-state.ts';
import { isDatabaseUp } from '../ready.ts';
import { buildDatabaseCredential } from './secret.ts';
import type { OperatorDeps } from '../../../view/deps.ts';
import type { DatabaseSecret } from '../../../reports/part-report.ts';
import type { DatabasePass, DatabaseView } from '../../database.ts';
import type { Credential } from './credential.ts';
import { isUsedEverywhere, decideRotationStep, type RotationStep, type Task } from './next-step.ts';
import { listCredentials } from './list.ts';
import { isDoubted, markLost } from './lost.ts';
import { buildPasswordJob, PSQL, type PasswordTask } from './job.ts';

/** The Secret with which pods are to be started, the change under way, and the request that has been fulfilled. */
export type PasswordState = {
  secret: DatabaseSecret | undefined;
  rotation?: StatedCondition;
  requestedAt?: string;
  /** Seconds after which to look again: nothing wakes the deployment for a restored Secret, or a Job without a pod. */
  again?: number;
};

type Pass = Pick<DatabasePass, 'view' | 'signal' | 'now'> & {
  /** The credentials as they were just found or made, if they had to be read. */
  known: Credential[] | undefined;
};

/** How many steps are taken at once: marking, making and removing. The others wait for the database or the pods. */
const STEPS_AT_ONCE = 5;
const LOOK_AGAIN = 30;

/** Moves a change of a managed database's password one step forward. A settled deployment reads no Secret. */
export async function rotatePassword(
  deps: OperatorDeps,
  deployment: DeploymentResource,
  pass: Pass,
): Promise<PasswordState> {
  const { databaseSecret: used, passwordRequestedAt: fulfilled } = deployment.status ?? {};
  const requestedAt = deployment.spec.database?.passwordRequestedAt;
  const isAsked = requestedAt !== undefined && requestedAt !== fulfilled;
  if (used !== undefined && !mayChange(deployment, isAsked || isDoubted(deployment, pass.view)))
    return { secret: { secret: used }, ...(fulfilled !== undefined && { requestedAt: fulfilled }) };
  const look = async (count: number) =>
    (count === 0 ? pass.known : undefined) ?? listCredentials(deps, deployment, pass.signal);
  for (let count = 0; count < STEPS_AT_ONCE; count += 1) {
    const state = await takeStep({ deps, deployment, pass, credentials: await look(count) });
    if (state !== undefined) return state;
  }
  return {
    secret: used === undefined ? undefined : { secret: used },
    rotation: buildRotationCondition('Making', 'A new password is being made.'),
  };
}

/** Returns true if a change is under way or due. While volumes change, a new password would be known by one of them. */
const mayChange = (deployment: DeploymentResource, isDue: boolean): boolean =>
  (isDue || findCondition(deployment, PASSWORD_ROTATED) !== undefined) && !isReplacing(deployment);

type Taking = {
  deps: OperatorDeps;
  deployment: DeploymentResource;
  pass: Pass;
  credentials: Credential[];
};

/** Takes one step. Returns undefined if it is done and the next step can be taken at once. */
async function takeStep(taking: Taking): Promise<PasswordState | undefined> {
  const { deps, deployment, credentials, pass } = taking;
  const { view, signal } = pass;
  const used = deployment.status?.databaseSecret;
  if (used !== undefined && credentials.every(({ secret }) => secret !== used)) {
    const lost = await markLost(deps, deployment, { used, signal });
    return lost === undefined
      ? undefined
      : { secret: { secret: used }, rotation: lost, again: LOOK_AGAIN };
  }
  const step = decideRotationStep({
    credentials,
    used,
    requestedAt: deployment.spec.database?.passwordRequestedAt,
    isDone: (task, number) =>
      isDone(view, names.passwordJob(deployment.metadata.name, task, number)),
    isEverywhere: (secret) => isUsedEverywhere(view, secret),
  });
  return take(step, taking);
}

async function take(
  step: RotationStep,
  { deps, deployment, pass, credentials }: Taking,
): Promise<PasswordState | undefined> {
  const used = deployment.status?.databaseSecret;
  const known = used === undefined ? undefined : { secret: used };
  switch (step.do) {
    case 'nothing': {
      const [only] = credentials;
      const secret = only === undefined ? known : { secret: only.secret };
      return { secret, ...(only?.requestedAt !== undefined && { requestedAt: only.requestedAt }) };
    }
    case 'make':
      await deps.writer.create(buildNextCredential(deployment, step.number, deps), pass.signal);
      return undefined;
    case 'run':
      return {
        secret: known,
        rotation: await run(step, { deps, deployment, pass, credentials }),
        again: LOOK_AGAIN,
      };
    case 'use':
    case 'await-pods':
      return {
        secret: { secret: step.to.secret },
        rotation: buildRotationCondition(
          'ReplacingPods',
          'The pods are being replaced in turn; both passwords work.',
        ),
      };
    case 'forget':
      await removeFormer(deps, deployment, step, pass.signal);
      return undefined;
  }
}

function buildNextCredential(
  deployment: DeploymentResource,
  number: number,
  { settings }: OperatorDeps,
): KubeObject {
  const requestedAt = deployment.spec.database?.passwordRequestedAt;
  return buildDatabaseCredential(deployment, settings, {
    random: randomBytes,
    number,
    requestedAt,
  });
}

async function run(
  step: Extract<RotationStep, { do: 'run' }>,
  { deps, deployment, pass }: Taking,
): Promise<StatedCondition> {
  if (!isDatabaseUp(pass.view))
    return buildRotationCondition('DatabaseNotReady', 'A new password waits for the database.');
  const { trouble, hindrance } = await runTask(deps, deployment, step, pass);
  const lost =
    step.from.isLost === true
      ? ` The Secret ${step.from.secret} with the former one was deleted.`
      : '';
  const details = [lost.trim(), hindrance?.message ?? trouble]
    .filter(Boolean)
    .map((words) => ` ${words}`);
  return step.task === 'set'
    ? buildRotationCondition(
        hindrance?.reason ?? 'SettingPassword',
        `The new password is being set in the database.${details.join('')}`,
      )
    : buildRotationCondition(
        hindrance?.reason ?? 'RetiringPassword',
        `All pods use the new password; the former one is being revoked.${details.join('')}`,
      );
}

type TaskState = { trouble?: string | undefined; hindrance?: JobHindrance };

/** Makes the Job whose pod changes the password in the database, unless it exists. Returns its trouble. */
export async function runTask(
  deps: OperatorDeps,
  deployment: DeploymentResource,
  task: PasswordTask,
  pass: Omit<Pass, 'known'>,
): Promise<TaskState> {
  const { view, signal, now } = pass;
  const job = buildPasswordJob(deployment, task, deps.settings);
  const pod = findPod(view, job.metadata.name);
  if (pod === undefined) return makeTask(deps, job, { now, signal });
  const patience = { now: now.getTime(), imagePullSeconds: deps.settings.imagePullPatienceSeconds };
  return { trouble: findWorstDiagnosis(undefined, [pod], patience)?.message };
}

async function makeTask(
  { writer, kube }: OperatorDeps,
  job: KubeObject,
  looking: Pick<Pass, 'now' | 'signal'>,
): Promise<TaskState> {
  if (await writer.create(job, looking.signal)) return {};
  // The task is repeated until it succeeds, so that its Job has no deadline.
  const state = await readPodlessJobState(kube, job.metadata, { deadline: '', ...looking });
  return state.is === 'hindered' ? { hindrance: state } : {};
}

/** Returns the pod of a Job. One that a node gave up does not count, because its Job makes another. */
const findPod = ({ passwordPods }: DatabaseView, job: string): KubeObject | undefined =>
  passwordPods.find(
    (pod) =>
      pod.metadata.annotations?.[PASSWORD_TASK] === job && getPodStatus(pod).phase !== 'Failed',
  );

/** Returns true when the pod of the Job has done its task. Containers of others may run on in it. */
export function isDone(view: DatabaseView, job: string): boolean {
  const pod = findPod(view, job);
  return pod !== undefined && findEnd(pod, PSQL)?.exitCode === 0;
}

/** Removes the former credential last. As long as it exists, a change continues from here after a crash. */
async function removeFormer(
  { kube }: OperatorDeps,
  deployment: DeploymentResource,
  step: Extract<RotationStep, { do: 'forget' }>,
  signal: AbortSignal,
) {
  const { name, namespace } = deployment.metadata;
  for (const task of ['set', 'retire'] satisfies Task[]) {
    const job = names.passwordJob(name, task, step.to.number);
    await kube.delete(kinds.job, { namespace, name: job }, { propagation: 'Background' }, signal);
  }
  await kube.delete(kinds.secret, { namespace, name: step.from.secret }, {}, signal);
}

const buildRotationCondition = (reason: string, message: string): StatedCondition => ({
  type: PASSWORD_ROTATED,
  status: 'False',
  reason,
  message,
});

import { randomBytes } from 'node:crypto';
import { kinds, type KubeObject } from '../../../kube/kube.ts';
import { PASSWORD_ROTATED } from '../../../schema/conditions.ts';
import type { DeploymentResource } from '../../../schema/custom-resources.ts';
import { COMPONENT, DEPLOYMENT, PASSWORD_TASK } from '../../../schema/labels.ts';
import { labelValue, names } from '../../../schema/names.ts';
import type { OperatorDeps } from '../../deps.ts';
import { diagnose, statusOfPod } from '../../diagnose.ts';
import { conditionIn } from '../../kernel/conditions.ts';
import type { Statement } from '../../kernel/outcome.ts';
import { isDatabaseUp } from '../../workload-state.ts';
import type { DatabaseSecret } from '../external.ts';
import { databaseCredential } from '../objects/credential.ts';
import type { DeploymentWorld } from '../observe.ts';
import { credentialsAmong, type Credential } from './credentials.ts';
import { isUsedEverywhere, nextStep, type Step, type Task } from './decide.ts';
import { passwordJob } from './job.ts';

/** The Secret pods are to be started with, what is under way, and the request that has been fulfilled. */
export type PasswordState = { secret: DatabaseSecret | undefined; rotation?: Statement; requestedAt?: string };

/** `credentials`: as they were found a moment ago, where somebody had to look already. */
type Scene = { world: DeploymentWorld; credentials?: Credential[] | undefined; signal: AbortSignal; now: Date };

/** Making, and forgetting, are done at once; the other steps wait for the database or the pods. */
const STEPS_AT_ONCE = 4;

/** Brings a change of the own database's password one step on. A settled deployment reads no Secret. */
export async function rotatePassword(deps: OperatorDeps, deployment: DeploymentResource, scene: Scene): Promise<PasswordState> {
  const { databaseSecret: used, passwordRequestedAt: fulfilled } = deployment.status ?? {};
  const requestedAt = deployment.spec.database?.passwordRequestedAt;
  const isUnderWay = conditionIn(deployment, PASSWORD_ROTATED) !== undefined;
  if (used !== undefined && !isUnderWay && (requestedAt === undefined || requestedAt === fulfilled))
    return { secret: { secret: used }, ...(fulfilled !== undefined && { requestedAt: fulfilled }) };
  const look = async (count: number) => (count === 0 && scene.credentials) || listCredentials(deps, deployment, scene.signal);
  for (let count = 0; count < STEPS_AT_ONCE; count += 1) {
    const credentials = await look(count);
    const { world } = scene;
    const step = nextStep({
      credentials,
      used,
      requestedAt,
      isDone: (task, number) => isDone(world, names.passwordJob(deployment.metadata.name, task, number)),
      isEverywhere: (secret) => isUsedEverywhere(world, secret),
    });
    const state = await take(step, { deps, deployment, scene, credentials });
    if (state !== undefined) return state;
  }
  return { secret: used === undefined ? undefined : { secret: used }, rotation: underWay('Making', 'A new password is being made.') };
}

/** Of a deployment's own database, oldest first. */
export async function listCredentials(
  { kube }: Pick<OperatorDeps, 'kube'>,
  deployment: DeploymentResource,
  signal: AbortSignal,
): Promise<Credential[]> {
  const { name, namespace } = deployment.metadata;
  const labelSelector = `${DEPLOYMENT}=${labelValue(name)},${COMPONENT}=database`;
  const secrets = await kube.all(kinds.secret, { ...(namespace !== undefined && { namespace }), labelSelector }, signal);
  return credentialsAmong(secrets, deployment);
}

type Taking = { deps: OperatorDeps; deployment: DeploymentResource; scene: Scene; credentials: Credential[] };

/** Undefined: done, and the next step can be taken at once. */
async function take(step: Step, { deps, deployment, scene, credentials }: Taking): Promise<PasswordState | undefined> {
  const used = deployment.status?.databaseSecret;
  const known = used === undefined ? undefined : { secret: used };
  switch (step.do) {
    case 'nothing': {
      const [only] = credentials;
      const secret = only === undefined ? known : { secret: only.secret };
      return { secret, ...(only?.requestedAt !== undefined && { requestedAt: only.requestedAt }) };
    }
    case 'make':
      await deps.writer.create(next(deployment, step.number, deps), scene.signal);
      return undefined;
    case 'run':
      return { secret: known, rotation: await run(step, { deps, deployment, scene, credentials }) };
    case 'use':
    case 'await-pods':
      return {
        secret: { secret: step.to.secret },
        rotation: underWay('ReplacingPods', 'The pods are being replaced in turn; both passwords work.'),
      };
    case 'forget':
      await forget(deps, deployment, step, scene.signal);
      return undefined;
  }
}

function next(deployment: DeploymentResource, number: number, { settings }: OperatorDeps): KubeObject {
  const requestedAt = deployment.spec.database?.passwordRequestedAt;
  return databaseCredential(deployment, settings, { random: randomBytes, number, requestedAt });
}

async function run(step: Extract<Step, { do: 'run' }>, { deps, deployment, scene }: Taking): Promise<Statement> {
  const { world, signal, now } = scene;
  if (!isDatabaseUp(world.database)) return underWay('DatabaseNotReady', 'A new password waits for the database.');
  const job = passwordJob(deployment, step, deps.settings);
  if (podOf(world, job.metadata.name) === undefined) await deps.writer.create(job, signal);
  const patience = { now: now.getTime(), imagePullSeconds: deps.settings.imagePullPatienceSeconds };
  const trouble = diagnose(undefined, [podOf(world, job.metadata.name) ?? []].flat(), patience);
  const said = trouble === undefined ? '' : ` ${trouble.message}`;
  return step.task === 'set'
    ? underWay('SettingPassword', `The database is being told the new password.${said}`)
    : underWay('RetiringPassword', `All pods use the new password; the former one is being refused.${said}`);
}

const podOf = ({ passwordPods }: DeploymentWorld, job: string): KubeObject | undefined =>
  passwordPods.find(({ metadata }) => metadata.annotations?.[PASSWORD_TASK] === job);

function isDone(world: DeploymentWorld, job: string): boolean {
  const pod = podOf(world, job);
  return pod !== undefined && statusOfPod(pod).phase === 'Succeeded';
}

/** The former credential last: while it is there, whoever comes after a crash goes on from here. */
async function forget({ kube }: OperatorDeps, deployment: DeploymentResource, step: Extract<Step, { do: 'forget' }>, signal: AbortSignal) {
  const { name, namespace } = deployment.metadata;
  for (const task of ['set', 'retire'] satisfies Task[]) {
    const job = names.passwordJob(name, task, step.to.number);
    await kube.delete(kinds.job, { namespace, name: job }, { propagation: 'Background' }, signal);
  }
  await kube.delete(kinds.secret, { namespace, name: step.from.secret }, {}, signal);
}

const underWay = (reason: string, message: string): Statement => ({ type: PASSWORD_ROTATED, status: 'False', reason, message });

import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { Conflict, Problem, Rejected } from '../../errors.ts';
import { kinds, type Ref } from '../../kube/kube.ts';
import { VOLUME_GROWN } from '../../schema/conditions.ts';
import type { DeploymentResource, DeploymentSpec } from '../../schema/custom-resources.ts';
import type { Deployment, DeploymentPatchRequest } from '../../schema/deployment.ts';
import { tenantOf } from '../../schema/tenancy.ts';
import { refusing } from '../kube-refusal.ts';
import type { Needs } from '../needs.ts';
import { checkForeign } from '../pod-policy/foreign.ts';
import { brokenPodRules } from '../pod-policy/rules.ts';
import { makeRevision } from '../revisions/make.ts';
import { answerFor, readDeployment, type Asking } from './find.ts';
import { jsonPatchOf } from './json-patch.ts';
import { toSpec, toWanted } from './resource.ts';
import {
  afterPatch,
  brokenRules,
  brokenSecrets,
  changedImmutables,
  makesRevision,
  shrunkVolume,
  withoutEcho,
  type Wanted,
} from './rules.ts';

/** The operator's status writes change the version too, so a lost race is normal; ten in a row, with growing pauses, are not. */
const ATTEMPTS = 10;
const LONGEST_PAUSE = 25;

export type PatchOptions = { id: string; dryRun: boolean; ifMatch?: string | undefined; alwaysRevision?: boolean };

type Step = { deployment: DeploymentResource; wanted: Wanted; secrets: DeploymentPatchRequest['secrets']; revision: boolean };

/** Merges a patch into the stored deployment, and makes a revision when the patch asks for one. */
export async function patchDeployment(
  needs: Needs,
  body: DeploymentPatchRequest,
  asking: Asking,
  options: PatchOptions,
): Promise<DeploymentResource> {
  const made: Made = {};
  try {
    return await attempted(
      () => decide(needs, body, asking, options),
      (step) => write(needs, step, { options, made }),
    );
  } catch (error) {
    // After an answer that got lost, the patch may stand and need its Secret: the operator removes what nothing refers to.
    const refused = error instanceof Problem && error.status < 500;
    if (refused && made.ref !== undefined) await needs.kube.delete(kinds.secret, made.ref).catch(() => false);
    throw error;
  }
}

/** Reads, decides and writes until no other writer came in between. */
export async function attempted<T, D>(decideNow: () => Promise<D>, writeIt: (decided: D) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    const decided = await decideNow();
    try {
      return await writeIt(decided);
    } catch (error) {
      if (!(error instanceof Conflict)) throw error;
      if (attempt === ATTEMPTS)
        throw new Conflict('The deployment was changed by somebody else at the same time; try again.', { cause: error });
      await wait(Math.random() * LONGEST_PAUSE * attempt);
    }
  }
}

/** What is to be written; throws when a rule forbids it. */
async function decide(needs: Needs, body: DeploymentPatchRequest, asking: Asking, options: PatchOptions): Promise<Step> {
  const { config, kube } = needs;
  const deployment = await readDeployment(needs, options.id, asking);
  if (deployment.metadata.deletionTimestamp !== undefined) throw new Conflict(`Deployment ID ${options.id} is being deleted.`);
  checkVersion(deployment, options.ifMatch);
  const current: Deployment = await answerFor(needs, deployment, asking);
  const patch = withoutEcho(current, body);
  const wanted = afterPatch(toWanted(deployment), patch);
  const broken = [
    ...changedImmutables(current, patch),
    ...shrunkVolume(toWanted(deployment), patch, { isGrowing: isGrowing(deployment) }),
    // A deployment that kubectl made for the other hosting keeps it: source never changes.
    ...brokenRules(wanted, { hosting: wanted.source === 'git' ? 'cloud' : 'self-hosted' }),
    ...brokenPodRules(patch.source_config?.resource_spec, config.grants),
    ...brokenSecrets(patch.secrets ?? []),
  ];
  if (broken.length > 0) throw new Rejected(broken.join('; '));
  const { namespace = '' } = deployment.metadata;
  await checkForeign(kube, { spec: patch.source_config?.resource_spec, namespace, signal: asking.signal });
  return { deployment, wanted, secrets: patch.secrets, revision: options.alwaysRevision === true || makesRevision(patch) };
}

const isGrowing = ({ status }: DeploymentResource): boolean =>
  status?.conditions?.some((condition) => condition.type === VOLUME_GROWN && condition.status === 'False') === true;

/** The version of a deployment's spec, for If-Match: status may change without a conflict. */
export const etagOf = ({ metadata }: DeploymentResource): string => `"${metadata.uid}.${metadata.generation}"`;

function checkVersion(deployment: DeploymentResource, ifMatch: string | undefined): void {
  if (ifMatch === undefined || ifMatch.trim() === '*') return;
  const given = ifMatch.split(',').map((tag) => tag.trim());
  if (!given.includes(etagOf(deployment))) throw new Problem(412, 'The deployment has changed since it was read.');
}

/** The Secret of this request, once it is stored; kept across attempts. */
type Made = { ref?: Ref | undefined };
type Write = { options: PatchOptions; made: Made };

async function write(needs: Needs, step: Step, { options, made }: Write): Promise<DeploymentResource> {
  const { metadata } = step.deployment;
  const secretName = await secretNameFor(needs, step, { options, made });
  const spec = patchedSpec(step, { secretName, now: needs.now() });
  const changes = jsonPatchOf(step.deployment.spec, spec, '/spec');
  if (changes.length === 0) return step.deployment;
  const guard = { op: 'replace', path: '/metadata/resourceVersion', value: metadata.resourceVersion } as const;
  const ref = { namespace: metadata.namespace, name: metadata.name };
  const stored = await refusing(() => needs.kube.jsonPatch(kinds.deployment, ref, [guard, ...changes], { dryRun: options.dryRun }));
  if (options.dryRun) return stored;
  if (step.revision) await makeRevision(needs, stored);
  return needs.stored.note.deployment(stored);
}

async function secretNameFor(needs: Needs, { deployment, secrets }: Step, { options, made }: Write): Promise<string | undefined> {
  const before = deployment.spec.template.secretName;
  if (secrets === null || secrets === undefined || options.dryRun) return before;
  if (secrets.length === 0) return undefined;
  const { name, namespace = '' } = deployment.metadata;
  const owner = { deployment: name, namespace, tenantId: tenantOf(deployment, needs.stored.owners(), needs.config.defaultTenantId) };
  made.ref ??= { namespace, name: await refusing(() => needs.secrets.store(owner, { secrets, nonce: randomUUID() })) };
  return made.ref.name;
}

function patchedSpec(
  { deployment, wanted, revision }: Step,
  { secretName, now }: { secretName: string | undefined; now: Date },
): DeploymentSpec {
  const { rollbackOf, ...before } = deployment.spec;
  const { sourceConfig: _config, template: _template, ...kept } = before;
  const asked = toSpec(wanted, { listener: before.sourceConfig?.listener, secretName });
  const requestedAt = revision ? laterThan(before.requestedAt, now) : before.requestedAt;
  return {
    ...kept,
    ...asked,
    ...(requestedAt !== undefined && { requestedAt }),
    ...(!revision && rollbackOf !== undefined && { rollbackOf }),
  };
}

/** Now, but never the value that stands there already: the same value would ask for nothing. */
export function laterThan(before: string | undefined, now: Date): string {
  const least = before === undefined ? 0 : new Date(before).getTime() + 1;
  return new Date(Math.max(now.getTime(), least)).toISOString();
}

import { Problem } from '../../errors.ts';
import type { KubeObject } from '../../kube/kube.ts';
import { isOfKind, buildObjectId } from '../../kube/object-key.ts';
import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';
import type { OperatorDeps } from '../view/deps.ts';
import type { DeploymentStatusFields, PartPrepared } from '../reports/part-report.ts';
import { pickStatusFields } from '../reports/status-inputs.ts';
import type { Reconcile } from '../kernel/controller.ts';
import { observeFacts } from './facts.ts';
import { resolveHistory, listOutdatedRevisions } from './history.ts';
import { findDatabaseAndService } from './observe.ts';
import type { DeploymentFacts, Part, WrittenFacts } from './part.ts';
import { DEPLOYMENT_PARTS } from './parts.ts';
import { buildDeploymentReport } from './status.ts';

/** Keeps the newest revision and all parts of a deployment as its spec and its revisions ask. */
export const reconcileDeployment =
  (
    deps: OperatorDeps,
    parts: readonly Part[] = DEPLOYMENT_PARTS,
  ): Reconcile<DeploymentResource, DeploymentStatusFields> =>
  async (deployment, { signal, now }) => {
    const facts = await observeFacts(deps, deployment, { signal, now });
    const prepared = await prepare(parts, { deps, facts, signal });
    const trouble = facts.held ?? prepared.find((done) => done.trouble !== undefined)?.trouble;
    const secret = prepared.find((done) => done.secret !== undefined)?.secret;
    const known = { ...facts, trouble, secret, written: [], refused: [] };
    if (trouble !== undefined)
      return buildDeploymentReport(known, [
        ...prepared,
        ...parts.map(({ report }) => report?.(known) ?? {}),
      ]);
    const objects = parts.flatMap(
      ({ desired }, index) => prepared[index]?.objects ?? desired?.(facts) ?? [],
    );
    const after: WrittenFacts = { ...known, ...(await write(deps, { facts, objects, signal })) };
    const steps = [];
    for (const { step } of parts) steps.push((await step?.(deps, after, signal)) ?? {});
    return buildDeploymentReport(after, [
      ...prepared,
      ...steps,
      ...parts.map(({ report }) => report?.(after) ?? {}),
    ]);
  };

type DeploymentPass = { deps: OperatorDeps; facts: DeploymentFacts; signal: AbortSignal };

/** Prepares the parts one after the other. The first trouble holds back all that follow. */
async function prepare(
  parts: readonly Part[],
  { deps, facts, signal }: DeploymentPass,
): Promise<PartPrepared[]> {
  let trouble = facts.held;
  const prepared: PartPrepared[] = [];
  for (const part of parts) {
    const act = trouble === undefined ? part.prepare : part.whileHeld;
    const done = (await act?.(deps, facts, signal)) ?? {
      status: pickStatusFields(facts.deployment, part.keeps),
    };
    trouble ??= done.trouble;
    prepared.push(done);
  }
  return prepared;
}

type Changed = Pick<WrittenFacts, 'written' | 'refused' | 'revisions' | 'database' | 'service'>;

/** Applies the objects, makes the revision that is asked for, and removes outdated ones. */
async function write(
  { writer, table }: OperatorDeps,
  {
    facts,
    objects,
    signal,
  }: Pick<DeploymentPass, 'facts' | 'signal'> & { objects: WrittenFacts['written'] },
): Promise<Changed> {
  const { deployment, missing, children, revisions, active } = facts;
  const dispensable = buildDispensableTest(table);
  const isNeeded = (object: KubeObject): boolean => !dispensable(object);
  const firm = await writer.reconcile(objects.filter(isNeeded), children.filter(isNeeded), signal);
  const loose = await writeEach(
    writer,
    objects.filter(dispensable),
    children.filter(dispensable),
    signal,
  );
  const written = [...firm, ...loose.written];
  const made = missing !== undefined && (await writer.create(missing, signal)) ? [missing] : [];
  const keeping = facts.rollout.status?.draining.map(({ revision }) => revision) ?? [];
  const old = listOutdatedRevisions(revisions, active, { ...resolveHistory(facts), keeping });
  for (const revision of old) await writer.remove(revision, signal);
  return {
    written,
    refused: loose.refused,
    ...findDatabaseAndService(deployment, written),
    revisions: [...revisions.filter((known) => !old.includes(known)), ...made],
  };
}

/** Returns whether an object is of a kind without which a deployment serves. */
const buildDispensableTest = (table: OperatorDeps['table']) => {
  const rows = Object.values(table).filter(({ dispensable }) => dispensable === true);
  return (object: KubeObject): boolean => rows.some(({ kind }) => isOfKind(object, kind));
};

/** Writes objects that a deployment can do without. One that can't be written holds nothing else back. */
async function writeEach(
  writer: OperatorDeps['writer'],
  objects: KubeObject[],
  children: KubeObject[],
  signal: AbortSignal,
): Promise<Pick<Changed, 'written' | 'refused'>> {
  const [written, refused]: [KubeObject[], Changed['refused']] = [[], []];
  const tryWrite = async (object: KubeObject, work: () => Promise<KubeObject[]>): Promise<void> => {
    try {
      written.push(...(await work()));
    } catch (error) {
      if (!(error instanceof Problem) || signal.aborted) throw error;
      refused.push({ object, message: error.message });
    }
  };
  for (const object of objects) {
    const live = children.filter((child) => buildObjectId(child) === buildObjectId(object));
    await tryWrite(object, () => writer.reconcile([object], live, signal));
  }
  for (const child of children)
    if (!objects.some((object) => buildObjectId(object) === buildObjectId(child)))
      await tryWrite(child, () => writer.reconcile([], [child], signal));
  return { written, refused };
}

import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../../src/kube/kinds.ts';
import { type DeploymentSpec } from '../../../src/schema/platform/resources/custom-resources.ts';
import { API_VERSION } from '../../../src/schema/platform/objects/api-group.ts';
import type { Deployment } from '../../../src/schema/platform/deployment/deployment.ts';
import {
  REVISION_STATUSES,
  type RevisionStatus,
} from '../../../src/schema/platform/deployment/statuses.ts';
import type { Revision } from '../../../src/schema/platform/deployment/revision.ts';
import { until } from '../../kit/until.ts';
import { buildsIn } from '../../kit/build-stage.ts';
import { newDeployment } from '../../kit/objects.ts';
import { policyFor } from '../../kit/policy.ts';
import { git, INTEGRATIONS } from '../deployments/cases.ts';
import { creation, startPlane, type Plane } from '../kit/api-server-plane.ts';

/*
 * Each of the thirteen words appears in the situation in which a revision enters it. The test reads it over REST and in
 * the resource's own status, with the real API server and the cluster's controllers, an operator with a builder, and a
 * double of the kubelet.
 */
let images: Plane;
let repositories: Plane;
let endPolicies: (() => Promise<unknown>) | undefined;

beforeAll(async () => {
  images = await startPlane('words');
  const { namespace } = images;
  // Installations in the cloud deploy from git, and all others from images. Two of them share the namespace here.
  repositories = await startPlane('words-git', {
    hosting: 'cloud',
    gitIntegrations: INTEGRATIONS,
    namespace,
    namespaces: [namespace],
  });
  images.startKubelet();
  await images.startOperator({
    settings: { ...buildsIn(namespace), gitIntegrations: INTEGRATIONS },
  });
  endPolicies = await policies();
});
afterAll(async () => {
  await endPolicies?.();
  await repositories.stop();
  await images.stop();
});

/** An administrator forbids workloads of one name, and the deletion of revisions of another. */
async function policies(): Promise<() => Promise<unknown>> {
  const { kube, namespace } = images;
  const workload = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'unwanted-x', namespace },
    spec: {
      selector: { matchLabels: { a: 'b' } },
      template: {
        metadata: { labels: { a: 'b' } },
        spec: { containers: [{ name: 'c', image: 'i' }] },
      },
    },
  };
  const yes = () => true;
  const no = () => false;
  const probe = {
    apiVersion: API_VERSION,
    kind: 'TracingProject',
    metadata: { name: 'held-probe', namespace },
    spec: { projectName: 'probe' },
  };
  const ends = await Promise.all([
    policyFor(
      kube,
      {
        name: 'workloads',
        namespace,
        apiGroup: 'apps',
        resource: 'deployments',
        operation: 'CREATE',
        rule: "!object.metadata.name.startsWith('unwanted-')",
        message: 'unwanted',
      },
      () => kube.create(kinds.workload, workload, { dryRun: true }).then(no, yes),
    ),
    policyFor(
      kube,
      {
        name: 'revisions',
        namespace,
        apiGroup: 'gx.dev',
        resource: '*',
        operation: 'DELETE',
        rule: "!oldObject.metadata.name.startsWith('held-')",
        message: 'held',
      },
      async () => {
        await kube.create(kinds.tracingProject, probe).catch(() => undefined);
        return kube.delete(kinds.tracingProject, probe.metadata).then(no, yes);
      },
    ),
  ]);
  return () => Promise.all(ends.map((end) => end()));
}

type Made = { plane: Plane; deployment: string; revision: string };

const make = async (plane: Plane, body: Record<string, unknown>): Promise<Made> => {
  const { status, body: made } = await plane.call<Deployment>('POST', '/v2/deployments', {
    body,
    key: images.keys.write,
  });
  if (status !== 201) throw new Error(`not made: ${status} ${JSON.stringify(made)}`);
  return { plane, deployment: made.id, revision: made.latest_revision_id ?? '' };
};
const ofImage = (name: string, image: string) =>
  make(images, creation(name, { source_revision_config: { image_uri: image } }));
const ofRef = (name: string, ref: string) =>
  make(repositories, {
    ...git,
    name,
    source_config: { ...git.source_config, repo_url: 'ssh://git@git.example/acme/agent' },
    source_revision_config: { ...git.source_revision_config, repo_ref: ref },
    secrets: [],
  });
const changed = async ({ plane, deployment }: Made, image: string): Promise<Made> => {
  const body = { source_revision_config: { image_uri: image } };
  const { body: answer } = await plane.call<Deployment>('PATCH', `/v2/deployments/${deployment}`, {
    body,
  });
  return { plane, deployment, revision: answer.latest_revision_id ?? '' };
};
const read = async ({ plane, deployment, revision }: Made): Promise<Revision> =>
  (
    await plane.call<Revision>('GET', `/v2/deployments/${deployment}/revisions/${revision}`, {
      key: images.keys.write,
    })
  ).body;
const reached = async (made: Made, word: RevisionStatus): Promise<Made> => {
  await until(`the revision is ${word}`, async () => (await read(made)).status === word);
  return made;
};
/** The revision is made with kubectl, then found by REST. */
const byKubectl = async (name: string, spec: Partial<DeploymentSpec>): Promise<Made> => {
  const { template, ...rest } = spec;
  const given = newDeployment(images.namespace, {
    metadata: { name },
    spec: rest,
    ...(template && { template }),
  });
  const { metadata } = await images.kube.create(kinds.deployment, given);
  return { plane: images, deployment: metadata.uid ?? '', revision: '' };
};

type Situation = {
  word: RevisionStatus;
  when: string;
  name: string;
  arrange: (name: string) => Promise<Made>;
};

const SITUATIONS: Situation[] = [
  {
    word: 'CREATING',
    when: 'it is there and the operator, which is to leave its deployment alone, has not taken it up',
    name: 'creating',
    arrange: async (name) => {
      const made = await byKubectl(name, { suspend: true });
      const { body } = await images.call<Revision>(
        'POST',
        `/v2/deployments/${made.deployment}/revisions`,
      );
      return { ...made, revision: body.id };
    },
  },
  {
    word: 'QUEUED',
    when: 'an earlier one is being rolled out',
    name: 'queued',
    arrange: async (name) =>
      changed(await reached(await ofImage(name, 'mute:1'), 'DEPLOYING'), 'mute:2'),
  },
  {
    word: 'AWAITING_BUILD',
    when: 'its builder has not started',
    name: 'awaiting-build',
    arrange: (name) => ofRef(name, 'waits'),
  },
  {
    word: 'BUILDING',
    when: 'its builder runs',
    name: 'building',
    arrange: (name) => ofRef(name, 'runs'),
  },
  {
    word: 'AWAITING_DEPLOY',
    when: 'its Secret is not there',
    name: 'awaiting-deploy',
    arrange: async (name) => {
      const template = { sourceRevisionConfig: { imageUri: 'agent:1' }, secretName: 'nowhere' };
      const made = await byKubectl(name, { template });
      await until('REST knows its revision', async () => (await latest(made)) !== null);
      return { ...made, revision: (await latest(made)) ?? '' };
    },
  },
  {
    word: 'DEPLOYING',
    when: 'its pods are not ready',
    name: 'deploying',
    arrange: (name) => ofImage(name, 'mute:1'),
  },
  {
    word: 'CREATE_FAILED',
    when: 'its workload is refused',
    name: 'unwanted',
    arrange: (name) => ofImage(name, 'agent:1'),
  },
  {
    word: 'BUILD_FAILED',
    when: 'its builder fails',
    name: 'build-failed',
    arrange: (name) => ofRef(name, 'breaks'),
  },
  {
    word: 'DEPLOY_FAILED',
    when: 'its image is missing',
    name: 'deploy-failed',
    arrange: (name) => ofImage(name, 'missing:1'),
  },
  {
    word: 'DEPLOYED',
    when: 'its pods are ready and serve',
    name: 'deployed',
    arrange: (name) => ofImage(name, 'agent:1'),
  },
  {
    word: 'DEPLOYED',
    when: 'what was built for it serves',
    name: 'built',
    arrange: (name) => ofRef(name, 'main'),
  },
  {
    word: 'SKIPPED',
    when: 'a newer one came before its turn',
    name: 'skipped',
    arrange: async (name) => {
      const first = await reached(await ofImage(name, 'mute:1'), 'DEPLOYING');
      const second = await reached(await changed(first, 'mute:2'), 'QUEUED');
      await changed(first, 'mute:3');
      return second;
    },
  },
  {
    word: 'INTERRUPTED',
    when: 'somebody interrupts it',
    name: 'interrupted',
    arrange: async (name) => {
      const made = await reached(await ofImage(name, 'mute:1'), 'DEPLOYING');
      await images.call(
        'POST',
        `/v2/deployments/${made.deployment}/revisions/${made.revision}/interrupt`,
      );
      return made;
    },
  },
  {
    word: 'UNKNOWN',
    when: 'its deployment goes before it has ended, and it can not go along',
    name: 'held',
    arrange: async (name) => {
      const made = await reached(await ofImage(name, 'mute:1'), 'DEPLOYING');
      expect((await images.call('DELETE', `/v2/deployments/${made.deployment}`)).status).toBe(204);
      return made;
    },
  },
];

/** What `kubectl get` shows. */
const stored = async ({ revision }: Made): Promise<object> => {
  const all = await images.kube.listAll(kinds.revision, { namespace: images.namespace });
  const {
    phase,
    reason = null,
    message = null,
  } = all.find(({ metadata }) => metadata.uid === revision)?.status ?? {};
  return { phase, reason, message };
};

const latest = async ({ deployment }: Made): Promise<string | null> =>
  (await images.call<Deployment>('GET', `/v2/deployments/${deployment}`)).body.latest_revision_id;

test.concurrent.each(SITUATIONS)(
  'a revision is $word when $when',
  async ({ word, name, arrange }) => {
    const made = await arrange(name);
    await reached(made, word);
    // A sentence may follow a moment after its word. In the end both doors say the same.
    await until('both doors tell the same', async () => {
      const { status, reason, status_message } = await read(made);
      return (
        status === word &&
        isDeepStrictEqual({ phase: status, reason, message: status_message }, await stored(made))
      );
    });
    const answer = await read(made);
    // A failure has a word for machines and a sentence for people.
    const isExplained = answer.reason !== null && answer.status_message !== null;
    expect(isExplained || !word.endsWith('_FAILED')).toBe(true);
  },
);

test('no word is without its situation', () => {
  expect(new Set(SITUATIONS.map(({ word }) => word))).toEqual(new Set(REVISION_STATUSES));
});

import { expect, test } from 'vitest';
import type { OperatorSettings } from '../../src/config/operator.ts';
import { passwordJob } from '../../src/operator/database/own/credentials/job.ts';
import { databaseSet } from '../../src/operator/database/own/set.ts';
import { stagedJob } from '../../src/operator/revision/build/staged-job.ts';
import { workload } from '../../src/operator/revision/objects/workload.ts';
import { desiredStore } from '../../src/operator/store/desired.ts';
import { BUILDER, deployment, fromGit, revision, settings } from '../kit/objects.ts';

/* The credentials with which an installation pulls all images. */

type Templated = { kind: string; spec: { template: { spec: { imagePullSecrets?: { name: string }[] } } } };

const CREDENTIAL = { number: 1, secret: 's' } as never;
const WISH = { component: 'api', replicas: 1, secretName: undefined, connections: 10, deploymentId: 'd', image: 'i' } as const;

/** Returns the names of the Secrets with which each pod of a deployment pulls, by what the pod is for. */
function pulling(given: Partial<OperatorSettings>, resourceSpec: object = {}): Record<string, string[] | undefined> {
  const [asked, all] = [deployment({ template: { resourceSpec: { redisMemoryMb: 64, ...resourceSpec } } }), settings(given)];
  const address = { secretName: 's', key: 'uri', state: 'x' } as never;
  const source = { insecureGit: false, tenant: 'a' };
  const built = revision(deployment(fromGit('main')));
  const pods = {
    agent: workload(revision(asked), { ...WISH, address }, all),
    'built agent': workload(built, { ...WISH, address }, all),
    database: databaseSet(asked, all, {}),
    password: passwordJob(asked, { task: 'retire', from: CREDENTIAL, to: CREDENTIAL }, all),
    store: desiredStore({ deployment: asked, settings: all, isAsleep: false }).find(({ kind }) => kind === 'StatefulSet'),
    build: stagedJob(built, source, { ...all, builder: all.builder ?? BUILDER }),
  };
  const secretsOf = (object: unknown) => (object as Templated).spec.template.spec.imagePullSecrets?.map(({ name }) => name);
  return Object.fromEntries(Object.entries(pods).map(([purpose, object]) => [purpose, secretsOf(object)]));
}

test('every pod that the operator makes pulls with them', () => {
  const none = { agent: undefined, 'built agent': undefined, database: undefined, password: undefined, store: undefined, build: undefined };
  expect(pulling({})).toEqual(none);
  const all = Object.fromEntries(Object.keys(none).map((purpose) => [purpose, ['mirror', 'second']]));
  expect(pulling({ imagePullSecrets: ['mirror', 'second'] })).toEqual(all);
});

test('they stand behind those of the deployment and of builds, each once', () => {
  const builder = { ...BUILDER, registrySecretName: 'push', pullSecretName: 'pull' };
  const own = { imagePullSecrets: [{ name: 'own' }, { name: 'mirror' }] };
  const ofDeployment = ['own', 'mirror', 'second'];
  expect(pulling({ imagePullSecrets: ['mirror', 'second'], builder }, own)).toEqual({
    agent: ofDeployment,
    'built agent': ['pull', 'mirror', 'second'],
    database: ofDeployment,
    password: ofDeployment,
    store: ofDeployment,
    build: ['push', 'mirror', 'second'],
  });
});

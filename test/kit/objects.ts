import type { Builder } from '../../src/config/platform/builder.ts';
import type { OperatorConfig, OperatorSettings } from '../../src/config/platform/operator.ts';
import { readOperatorConfig } from '../../src/config/platform/operator.ts';
import {
  type DeploymentResource,
  type DeploymentSpec,
  type RevisionResource,
} from '../../src/schema/platform/resources/custom-resources.ts';
import { type ObjectMeta } from '../../src/schema/platform/objects/object-meta.ts';
import { API_VERSION } from '../../src/schema/platform/objects/api-group.ts';
import { buildRevision } from '../../src/schema/platform/resources/revision-of.ts';

type Template = DeploymentSpec['template'];
type DeploymentGiven = {
  metadata?: Partial<ObjectMeta>;
  spec?: Partial<Omit<DeploymentSpec, 'template'>>;
  template?: Partial<Template>;
  image?: string;
  status?: DeploymentResource['status'];
};

export const UID = '11111111-1111-4111-8111-111111111111';

/** Returns a deployment of an image, with what the test cares about. */
export function deployment({
  metadata,
  spec,
  template,
  image = 'agent:1',
  status,
}: DeploymentGiven = {}): DeploymentResource {
  return {
    apiVersion: API_VERSION,
    kind: 'Deployment',
    metadata: { name: 'chat', namespace: 'team', uid: UID, generation: 1, ...metadata },
    spec: {
      source: 'external_container',
      template: { sourceRevisionConfig: { imageUri: image }, ...template },
      ...spec,
    },
    ...(status && { status }),
  };
}

/** Returns the same without what only a stored object has, so that it can be created. */
export function newDeployment(namespace: string, given: DeploymentGiven = {}): DeploymentResource {
  const { metadata, spec } = deployment(given);
  const { uid: _, generation: _generation, ...kept } = metadata;
  return { apiVersion: API_VERSION, kind: 'Deployment', metadata: { ...kept, namespace }, spec };
}

/** Returns the revision that a deployment asks for, with a uid and a status. */
export function revision(
  of: DeploymentResource = deployment(),
  given: Partial<RevisionResource> = {},
): RevisionResource {
  const made = buildRevision(of);
  return {
    ...made,
    ...given,
    metadata: { ...made.metadata, uid: '22222222-2222-4222-8222-222222222222', ...given.metadata },
  };
}

/** Returns a deployment from git. The double of the kubelet builds by the ref. */
export const fromGit = (repoRef: string, given: DeploymentGiven = {}): DeploymentGiven => ({
  ...given,
  spec: {
    source: 'git',
    sourceConfig: {
      integrationId: GIT.id,
      repoUrl: 'ssh://git@git.example/team/chat.git',
      installCommand: 'npm ci',
    },
    ...given.spec,
  },
  template: { sourceRevisionConfig: { repoRef, gxConfigPath: 'agents/gx.json' } },
});

/** The connection that `fromGit` names. Over ssh, only a build's first stage asks the host. */
export const GIT = {
  id: '44444444-4444-4444-8444-444444444444',
  name: 'team',
  installation_id: 7,
  host: 'https://git.example',
};

export const BUILDER: Builder = {
  image: 'builder:1',
  repository: 'registry.example/agents',
  namespace: 'builds',
  gitNamespace: 'git',
  insecureRegistry: false,
  parallel: 2,
  parallelInAll: 1000,
  cpu: 0.1,
  memoryMb: 128,
  diskMb: 1024,
  deadlineSeconds: 600,
  keepSeconds: 3600,
};

export const settings = (overrides: Partial<OperatorSettings> = {}): OperatorSettings => ({
  ...readOperatorConfig({ GX_PROFILE: 'small' }).settings,
  ...overrides,
});

export const config = (overrides: Partial<OperatorConfig> = {}): OperatorConfig => ({
  ...readOperatorConfig({ GX_PROFILE: 'small', GX_SERVER_HOST: '127.0.0.1', GX_HEALTH_PORT: '0' }),
  ...overrides,
});

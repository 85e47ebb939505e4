import type {
  DeploymentCreateRequest,
  DeploymentPatchRequest,
} from '../../../src/schema/platform/deployment/deployment.ts';

/*
 * Situations that the platform must refuse. Every row is proven three times: by the pure rules, by POST or PATCH, and
 * (where `door` is 'both') by the API server, which refuses the same thing to kubectl.
 */

type Body = Omit<DeploymentCreateRequest, 'name' | 'secrets'>;
type Row = { situation: string; path: string; door: 'both' | 'rest' };

const INTEGRATION = '22222222-2222-4222-8222-222222222222';
const ELSEWHERE = {
  id: 1,
  name: 'chat',
  owner: 'team',
  url: 'https://git.example:8443/team/chat',
  default_branch: 'main',
};
export const INTEGRATIONS = [
  {
    id: INTEGRATION,
    name: 'acme',
    installation_id: 7,
    host: 'https://git.example',
    repos: [ELSEWHERE],
  },
];

export const container: Body = {
  source: 'external_container',
  source_config: { resource_spec: {} },
  source_revision_config: { image_uri: 'registry.example/agent:1' },
};

export const git: Body = {
  source: 'git',
  source_config: {
    integration_id: INTEGRATION,
    repo_url: 'https://git.example/acme/agent',
    deployment_type: 'dev',
    build_on_push: false,
  },
  source_revision_config: { repo_ref: 'main', gx_config_path: 'gx.json' },
};

const withConfig = (body: Body, config: object): Body => ({
  ...body,
  source_config: { ...body.source_config, ...config },
});
const withRevision = (body: Body, config: object): Body => ({
  ...body,
  source_revision_config: { ...body.source_revision_config, ...config },
});
const withSizes = (sizes: object): Body => withConfig(container, { resource_spec: sizes });

export const FORBIDDEN: (Row & { body: Body })[] = [
  {
    situation: 'a container without an image',
    path: 'source_revision_config.image_uri',
    door: 'both',
    body: withRevision(container, { image_uri: null }),
  },
  {
    situation: 'a container with a repository',
    path: 'source_config.repo_url',
    door: 'both',
    body: withConfig(container, { repo_url: 'https://git.example/a' }),
  },
  {
    situation: 'a container with an integration',
    path: 'source_config.integration_id',
    door: 'both',
    body: withConfig(container, { integration_id: INTEGRATION }),
  },
  {
    situation: 'a container with a deployment type',
    path: 'source_config.deployment_type',
    door: 'both',
    body: withConfig(container, { deployment_type: 'prod' }),
  },
  {
    situation: 'a container built on push',
    path: 'source_config.build_on_push',
    door: 'both',
    body: withConfig(container, { build_on_push: false }),
  },
  {
    situation: 'a container with an install command',
    path: 'source_config.install_command',
    door: 'both',
    body: withConfig(container, { install_command: 'npm ci' }),
  },
  {
    situation: 'a container of an image that was built for another tenant',
    path: 'source_revision_config.image_uri',
    door: 'rest',
    body: withRevision(container, {
      image_uri: 'registry.example/agents/somebody/chat:chat-00001',
    }),
  },
  {
    situation: 'a container with a build command',
    path: 'source_config.build_command',
    door: 'both',
    body: withConfig(container, { build_command: 'npm run build' }),
  },
  {
    situation: 'a container with a branch',
    path: 'source_revision_config.repo_ref',
    door: 'both',
    body: withRevision(container, { repo_ref: 'main' }),
  },
  {
    situation: 'a container with a path to gx.json',
    path: 'source_revision_config.gx_config_path',
    door: 'both',
    body: withRevision(container, { gx_config_path: 'gx.json' }),
  },
  {
    situation: 'git without a repository',
    path: 'source_config.repo_url',
    door: 'both',
    body: withConfig(git, { repo_url: null }),
  },
  {
    situation: 'git without an integration',
    path: 'source_config.integration_id',
    door: 'both',
    body: withConfig(git, { integration_id: null }),
  },
  {
    situation: 'git without a branch',
    path: 'source_revision_config.repo_ref',
    door: 'both',
    body: withRevision(git, { repo_ref: null }),
  },
  {
    situation: 'git without a path to gx.json',
    path: 'source_revision_config.gx_config_path',
    door: 'both',
    body: withRevision(git, { gx_config_path: null }),
  },
  {
    situation: 'git with an image',
    path: 'source_revision_config.image_uri',
    door: 'both',
    body: withRevision(git, { image_uri: 'a:1' }),
  },
  {
    situation: 'git with a URL of its own',
    path: 'source_config.custom_url',
    door: 'both',
    body: withConfig(git, { custom_url: 'https://a.example' }),
  },
  {
    situation: 'git with a resource spec',
    path: 'source_config.resource_spec',
    door: 'both',
    body: withConfig(git, { resource_spec: {} }),
  },
  {
    situation: 'git with a listener',
    path: 'source_config.listener_id',
    door: 'rest',
    body: withConfig(git, { listener_id: INTEGRATION }),
  },
  {
    situation: 'git with a namespace',
    path: 'source_config.listener_config',
    door: 'rest',
    body: withConfig(git, { listener_config: { k8s_namespace: 'a' } }),
  },
  {
    situation: 'a tag that is built on push',
    path: 'source_config.build_on_push',
    door: 'both',
    body: withRevision(withConfig(git, { build_on_push: true }), { repo_ref: 'refs/tags/v1' }),
  },
  {
    situation: 'fewer replicas at most than at least',
    path: 'source_config.resource_spec.min_scale',
    door: 'both',
    body: withSizes({ min_scale: 3, max_scale: 2 }),
  },
  {
    situation: 'a CPU limit below the request',
    path: 'source_config.resource_spec.cpu',
    door: 'both',
    body: withSizes({ cpu: 1.5, cpu_limit: 1 }),
  },
  {
    situation: 'a memory limit below the request',
    path: 'source_config.resource_spec.memory_mb',
    door: 'both',
    body: withSizes({ memory_mb: 512, memory_limit_mb: 256 }),
  },
  {
    situation: 'a queue limit below the request',
    path: 'source_config.resource_spec.queue_cpu',
    door: 'both',
    body: withSizes({ queue_cpu: 1, queue_cpu_limit: 0.5 }),
  },
  {
    situation: 'a queue limit below the request that it takes from the api',
    path: 'source_config.resource_spec.cpu',
    door: 'both',
    body: withSizes({ cpu: 2, queue_cpu_limit: 1 }),
  },
  {
    situation: 'a queue memory limit below the request that it takes from the api',
    path: 'source_config.resource_spec.memory_mb',
    door: 'both',
    body: withSizes({ memory_mb: 512, queue_memory_limit_mb: 256 }),
  },
  {
    situation: 'a database limit below the request',
    path: 'source_config.resource_spec.db_cpu',
    door: 'both',
    body: withSizes({ db_cpu: 1, db_cpu_limit: 0.5 }),
  },
  {
    situation: 'a privileged sidecar',
    path: 'source_config.resource_spec.sidecars.0.securityContext.privileged',
    door: 'rest',
    body: withSizes({
      sidecars: [{ name: 'a', image: 'a', securityContext: { privileged: true } }],
    }),
  },
  {
    situation: 'a volume of a Secret',
    path: 'source_config.resource_spec.volumes.0.secret',
    door: 'rest',
    body: withSizes({ volumes: [{ name: 'a', secret: { secretName: 'x' } }] }),
  },
  {
    situation: 'a mount of no volume',
    path: 'source_config.resource_spec.volume_mounts.0.name',
    door: 'rest',
    body: withSizes({ volume_mounts: [{ name: 'a', mountPath: '/a' }] }),
  },
  {
    situation: 'a service account that is not there',
    path: 'source_config.resource_spec.service_account_name',
    door: 'rest',
    body: withSizes({ service_account_name: 'nobody' }),
  },
];

/** The rows of FORBIDDEN that need no cluster to be refused. */
export const FORBIDDEN_BY_SHAPE = FORBIDDEN.filter(
  ({ path }) => !path.endsWith('service_account_name'),
);

const OTHER = '33333333-3333-4333-8333-333333333333';

export const FORBIDDEN_CHANGES: (Row & { of: Body; patch: DeploymentPatchRequest })[] = [
  {
    situation: 'the image of a build for another tenant',
    path: 'source_revision_config.image_uri',
    door: 'rest',
    of: container,
    patch: {
      source_revision_config: { image_uri: 'registry.example/agents/somebody/chat:chat-00001' },
    },
  },
  {
    situation: 'an init container of a build for another tenant',
    path: 'source_config.resource_spec.init_containers.0.image',
    door: 'rest',
    of: container,
    patch: {
      source_config: {
        resource_spec: {
          init_containers: [{ name: 'x', image: 'registry.example/agents/somebody/chat:1' }],
        },
      },
    },
  },
  {
    situation: 'the credential for images of builds',
    path: 'source_config.resource_spec.image_pull_secrets.0',
    door: 'rest',
    of: container,
    patch: { source_config: { resource_spec: { image_pull_secrets: [{ name: 'pull' }] } } },
  },
  {
    situation: 'another integration',
    path: 'source_config.integration_id',
    door: 'both',
    of: git,
    patch: { source_config: { integration_id: OTHER } },
  },
  {
    situation: 'another repository',
    path: 'source_config.repo_url',
    door: 'both',
    of: git,
    patch: { source_config: { repo_url: 'https://git.example/b' } },
  },
  {
    situation: 'another deployment type',
    path: 'source_config.deployment_type',
    door: 'both',
    of: git,
    patch: { source_config: { deployment_type: 'prod' } },
  },
  {
    situation: 'a tag, while each push is built',
    path: 'source_config.build_on_push',
    door: 'both',
    of: withConfig(git, { build_on_push: true }),
    patch: { source_revision_config: { repo_ref: 'refs/tags/v1' } },
  },
  {
    situation: 'each push built, while the ref is a tag',
    path: 'source_config.build_on_push',
    door: 'both',
    of: withRevision(git, { repo_ref: 'refs/tags/v1' }),
    patch: { source_config: { build_on_push: true } },
  },
  {
    situation: 'another source',
    path: 'source',
    door: 'both',
    of: git,
    patch: { source: 'external_container' },
  },
  {
    // With kubectl the change is accepted and has no effect, as the deployment's conditions say. A revert in git must
    // not get stuck.
    situation: 'a smaller volume of the database',
    path: 'source_config.resource_spec.db_storage_gi',
    door: 'rest',
    of: withSizes({ db_storage_gi: 20 }),
    patch: { source_config: { resource_spec: { db_storage_gi: 19 } } },
  },
  {
    situation: 'another name',
    path: 'name',
    door: 'rest',
    of: container,
    patch: { name: 'other' },
  },
  {
    situation: 'another listener',
    path: 'source_config.listener_id',
    door: 'rest',
    of: container,
    patch: { source_config: { listener_id: OTHER } },
  },
  {
    situation: 'another namespace',
    path: 'source_config.listener_config.k8s_namespace',
    door: 'rest',
    of: container,
    patch: { source_config: { listener_config: { k8s_namespace: 'elsewhere' } } },
  },
  {
    situation: 'a branch for a container',
    path: 'source_revision_config.repo_ref',
    door: 'both',
    of: container,
    patch: { source_revision_config: { repo_ref: 'main' } },
  },
  {
    situation: 'an image for git',
    path: 'source_revision_config.image_uri',
    door: 'both',
    of: git,
    patch: { source_revision_config: { image_uri: 'a:1' } },
  },
  {
    situation: 'a build command for a container',
    path: 'source_config.build_command',
    door: 'both',
    of: container,
    patch: { source_config: { build_command: 'make' } },
  },
];

import type { Builder } from '../../../config/builder.ts';
import type { OperatorSettings } from '../../../config/operator.ts';
import type { KubeObject } from '../../../kube/kube.ts';
import { API_VERSION, type RevisionResource } from '../../../schema/custom-resources.ts';
import { DEPLOYMENT, ownLabels, REVISION } from '../../../schema/labels.ts';
import { BUILD_CONTAINER, names } from '../../../schema/names.ts';
import { cores, mebibytes } from '../../kernel/quantity.ts';
import { RESTRICTED } from '../objects/containers.ts';
import { jobSpec } from './job-spec.ts';

const HOME = '/workspace';
const REGISTRY = '/gx/registry';

/** Returns the name that a revision's image is to be pushed under. */
export const targetImage = ({ metadata, spec }: RevisionResource, { repository }: Builder): string =>
  `${repository}/${metadata.namespace}/${spec.deployment}:${metadata.name}`;

/** Returns the Job that builds a revision from its repository, with the administrator's image. */
export function buildJob(revision: RevisionResource, builder: Builder, { imagePullPolicy }: OperatorSettings): KubeObject {
  const { metadata, spec } = revision;
  const labels = ownLabels(spec.deployment, 'build', metadata.name);
  const annotations = { [DEPLOYMENT]: spec.deployment, [REVISION]: metadata.name };
  const owner = { apiVersion: API_VERSION, kind: 'Revision', name: metadata.name, uid: metadata.uid ?? '' };
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name: names.buildJob(metadata.name),
      ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
      labels,
      annotations,
      ownerReferences: [{ ...owner, controller: true, blockOwnerDeletion: true }],
    },
    spec: jobSpec(builder, { labels, annotations }, podSpec(revision, builder, imagePullPolicy)),
  };
}

function podSpec(revision: RevisionResource, builder: Builder, imagePullPolicy: OperatorSettings['imagePullPolicy']): object {
  const { registrySecretName: registry } = builder;
  const secret = { secretName: registry, items: [{ key: '.dockerconfigjson', path: 'config.json' }] };
  return {
    // The image names the user, because only its maker knows which one the builder needs. It must not be root.
    securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    containers: [container(revision, builder, imagePullPolicy)],
    volumes: [
      { name: 'workspace', emptyDir: {} },
      { name: 'tmp', emptyDir: {} },
      ...(registry === undefined ? [] : [{ name: 'registry', secret }]),
    ],
  };
}

function container(revision: RevisionResource, builder: Builder, imagePullPolicy: OperatorSettings['imagePullPolicy']): object {
  const { image, command, args, cpu, memoryMb, secretName, registrySecretName: registry } = builder;
  return {
    name: BUILD_CONTAINER,
    image,
    imagePullPolicy,
    ...(command && { command }),
    ...(args && { args }),
    env: environment(revision, builder),
    ...(secretName !== undefined && { envFrom: [{ secretRef: { name: secretName } }] }),
    resources: {
      requests: { cpu: cores(cpu), memory: mebibytes(memoryMb) },
      limits: { cpu: cores(cpu * 2), memory: mebibytes(memoryMb * 2) },
    },
    securityContext: RESTRICTED,
    volumeMounts: [
      { name: 'workspace', mountPath: HOME },
      { name: 'tmp', mountPath: '/tmp' },
      ...(registry === undefined ? [] : [{ name: 'registry', mountPath: REGISTRY, readOnly: true }]),
    ],
  };
}

/** Returns the variables that a builder gets; docs/how-to/build-from-git.md lists the same names. */
function environment(revision: RevisionResource, builder: Builder): object[] {
  const { metadata, spec } = revision;
  const { repoUrl, integrationId, installCommand, buildCommand } = spec.sourceConfig ?? {};
  const { repoRef, gxConfigPath } = spec.template.sourceRevisionConfig ?? {};
  const given: Record<string, string | undefined> = {
    GX_GIT_URL: repoUrl,
    GX_GIT_REF: repoRef,
    GX_GIT_INTEGRATION_ID: integrationId,
    GX_CONFIG_PATH: gxConfigPath,
    GX_INSTALL_COMMAND: installCommand,
    GX_BUILD_COMMAND: buildCommand,
    GX_IMAGE: targetImage(revision, builder),
    GX_DEPLOYMENT: spec.deployment,
    GX_REVISION: metadata.name,
    HOME,
    DOCKER_CONFIG: builder.registrySecretName === undefined ? undefined : REGISTRY,
  };
  return variables(given);
}

/** Returns the variables that have a value, as a container takes them. */
export const variables = (given: Record<string, string | undefined>): { name: string; value: string }[] =>
  // Kubernetes would replace `$(NAME)` by a variable, so a literal dollar sign is written twice.
  Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [{ name, value: value.replaceAll('$', '$$$$') }]));

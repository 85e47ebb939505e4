import type { Builder } from '../../../config/platform/builder.ts';
import type { OperatorSettings } from '../../../config/platform/operator.ts';
import { buildProxyVariables } from '../../objects/proxy-variables.ts';
import type { KubeObject } from '../../../kube/kube.ts';
import { buildCacheRepository } from '../../../schema/platform/source/built-image.ts';
import type { RevisionResource } from '../../../schema/platform/resources/custom-resources.ts';
import {
  AGENTS_NAMESPACE,
  DEPLOYMENT,
  buildManagedLabels,
  REVISION,
  REVISION_UID,
  TENANT,
} from '../../../schema/platform/objects/labels.ts';
import { BUILD_STAGES, names } from '../../../schema/names.ts';
import { formatCores, formatMebibytes } from '../../kernel/quantity.ts';
import { buildJob } from '../../objects/job.ts';
import { buildImageUser } from '../../objects/user-of-image.ts';
import { resolveInstalledPlace } from '../../objects/placed.ts';
import { pullSecrets } from '../../objects/pull-secrets.ts';
import { RESTRICTED } from '../objects/containers.ts';
import { hasIndexProxy, INDEX_PROXY, buildIndexProxy, buildIndexVolume } from './index-proxy.ts';
import { chooseBuildPlace, buildTargetImage, type BuildPlace } from './place.ts';

type Stage = (typeof BUILD_STAGES)[number];

/** The source of one build: the commit, if it is known, and the Secret with the credential of its git host. */
export type StagedSource = {
  commit?: string | undefined;
  credentialSecret?: string | undefined;
  insecureGit: boolean;
  tenant: string;
  /** The loan to a build in another namespace: one Secret, of whose keys each stage sees its own. */
  lent?: Lent | undefined;
};
export type Lent = {
  secret: string;
  git: readonly string[];
  registry: boolean;
  authorities: boolean;
};

/** User and group of the builder's image. */
const BUILDER_ID = 10001;
const GIT = '/gx/git';
const REGISTRY = '/gx/registry';
const AUTHORITIES = '/gx/ca';
/** The folder of decisions from before the repository's commands run, for the stage that pushes. */
const KEPT = '/gx/kept';
/** Mi beyond the sources and packages that a stage may write: its log and its files in /tmp. */
const SCRATCH = 512;
/** Stages that run none of the repository's commands need little, whatever the build itself may take. */
const SMALL = { cpu: 0.1, memoryMb: 256 };

/** Returns the metadata of the objects that build a revision, in the namespace of all builds. */
export function buildStagedMetadata(
  revision: RevisionResource,
  namespace: string,
  tenant: string,
): KubeObject['metadata'] & { name: string } {
  const { metadata, spec } = revision;
  const home = { [AGENTS_NAMESPACE]: metadata.namespace ?? '' };
  return {
    name: names.stagedBuild(metadata.name, metadata.uid ?? ''),
    namespace,
    labels: {
      ...buildManagedLabels(spec.deployment, 'build', metadata.name),
      ...home,
      [REVISION_UID]: metadata.uid ?? '',
      [TENANT]: tenant,
    },
    annotations: { [DEPLOYMENT]: spec.deployment, [REVISION]: metadata.name, ...home },
  };
}

/** Returns the Job that builds a revision in stages: each has only the credentials that it needs. */
export function buildStagedJob(
  revision: RevisionResource,
  source: StagedSource,
  given: Omit<StageSettings, 'place'>,
): KubeObject {
  const place = chooseBuildPlace(revision, given.builder);
  const metadata = buildStagedMetadata(revision, place.namespace, source.tenant);
  const {
    deadlineSeconds,
    keepSeconds,
    serviceAccountName,
    registrySecretName: registry,
  } = given.builder;
  const { labels, annotations } = metadata;
  return buildJob(
    metadata,
    {
      // A build that fails would fail again, so its author learns of it at once. A drained node is no failure.
      backoffLimit: 0,
      podFailurePolicy: {
        rules: [
          { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
        ],
      },
      activeDeadlineSeconds: deadlineSeconds + BEYOND_DEADLINE,
      ttlSecondsAfterFinished: keepSeconds,
    },
    {
      ...(labels && { labels }),
      ...(annotations && { annotations }),
      spec: {
        restartPolicy: 'Never',
        // It has no way to the API server.
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        ...(serviceAccountName !== undefined && { serviceAccountName }),
        ...pullSecrets(registry === undefined ? undefined : [{ name: registry }], given, {
          namespace: place.namespace,
          name: serviceAccountName,
        }),
        ...resolveInstalledPlace('builds', given),
        ...buildPodSpec(revision, source, { ...given, place }),
      },
    },
  );
}

/**
 * Seconds that Kubernetes gives a build beyond its deadline. The operator itself ends a late build after reading its
 * log. Kubernetes does so if no operator runs for that long.
 */
const BEYOND_DEADLINE = 60;

type StageSettings = { builder: Builder; place: BuildPlace } & OperatorSettings;

function buildPodSpec(
  revision: RevisionResource,
  source: StagedSource,
  given: StageSettings,
): object {
  const { builder, place } = given;
  const stage = (name: Stage): object => buildContainer(name, { revision, source, given });
  return {
    ...(place.hasBuildkit && { hostUsers: false }),
    securityContext: {
      runAsNonRoot: true,
      ...buildImageUser(BUILDER_ID, given),
      seccompProfile: { type: 'RuntimeDefault' },
    },
    initContainers: BUILD_STAGES.slice(0, -1).flatMap((name) => [
      ...(name === 'build' ? buildIndexProxy({ ...given, tenant: source.tenant }) : []),
      stage(name),
    ]),
    containers: BUILD_STAGES.slice(-1).map(stage),
    volumes: [
      { name: 'work', emptyDir: { sizeLimit: formatMebibytes(builder.diskMb) } },
      { name: 'kept', emptyDir: { sizeLimit: formatMebibytes(builder.diskMb) } },
      { name: 'tmp', emptyDir: { sizeLimit: formatMebibytes(SCRATCH) } },
      ...buildVolumes(source, given),
    ],
  };
}

/** A Secret's files are the group's to read, because the builder is not their owner. */
const READABLE = 0o440;

function buildVolumes(
  { credentialSecret, lent }: StagedSource,
  { builder, place }: StageSettings,
): object[] {
  if (place.hasBuildkit) return lent === undefined ? [] : buildLentVolumes(lent);
  const { registrySecretName: registry } = builder;
  const items = [{ key: '.dockerconfigjson', path: 'config.json' }];
  return [
    ...(credentialSecret === undefined
      ? []
      : [{ name: 'git', secret: { secretName: credentialSecret, defaultMode: READABLE } }]),
    ...(registry === undefined
      ? []
      : [{ name: 'registry', secret: { secretName: registry, items, defaultMode: READABLE } }]),
    ...(builder.caConfigMapName === undefined
      ? []
      : [{ name: 'ca', configMap: { name: builder.caConfigMapName } }]),
    ...buildIndexVolume(builder, place, READABLE),
  ];
}

function buildLentVolumes({ secret, git, registry, authorities }: Lent): object[] {
  const buildVolume = (name: string, items: { key: string; path: string }[]): object => ({
    name,
    secret: { secretName: secret, items, defaultMode: READABLE },
  });
  return [
    ...(git.length === 0
      ? []
      : [
          buildVolume(
            'git',
            git.map((key) => ({ key, path: key })),
          ),
        ]),
    ...(registry
      ? [buildVolume('registry', [{ key: '.dockerconfigjson', path: 'config.json' }])]
      : []),
    ...(authorities ? [buildVolume('ca', [{ key: 'ca.crt', path: 'ca.crt' }])] : []),
  ];
}

/**
 * The rights that BuildKit needs to start containers: root and mounts, both of the pod's own users alone. A masked
 * /proc and the usual filter of system calls would keep it from mounting /proc for them.
 */
const BUILDKIT = {
  runAsUser: 0,
  runAsGroup: 0,
  runAsNonRoot: false,
  capabilities: { add: ['SYS_ADMIN'] },
  procMount: 'Unmasked',
  seccompProfile: { type: 'Unconfined' },
  appArmorProfile: { type: 'Unconfined' },
};

function chooseSecrets(
  stage: Stage,
  source: StagedSource,
  { builder, place }: StageSettings,
): { git: boolean; registry: boolean; ca: boolean } {
  const there = place.hasBuildkit
    ? {
        git: (source.lent?.git.length ?? 0) > 0,
        registry: source.lent?.registry === true,
        ca: source.lent?.authorities === true,
      }
    : {
        git: source.credentialSecret !== undefined,
        registry: builder.registrySecretName !== undefined,
        ca: builder.caConfigMapName !== undefined,
      };
  return {
    git: there.git && stage === 'clone',
    registry: there.registry && (stage === 'restore' || stage === 'push'),
    ca: there.ca,
  };
}

type StagedBuild = { revision: RevisionResource; source: StagedSource; given: StageSettings };

function buildContainer(stage: Stage, { revision, source, given }: StagedBuild): object {
  const { builder, place, imagePullPolicy } = given;
  // The namespace's bounds follow from the settings of a build, so no stage asks for more.
  const { cpu, memoryMb } =
    stage === 'build'
      ? builder
      : {
          cpu: Math.min(SMALL.cpu, builder.cpu),
          memoryMb: Math.min(SMALL.memoryMb, builder.memoryMb),
        };
  const disk = { 'ephemeral-storage': formatMebibytes(builder.diskMb + SCRATCH) };
  const readOnly = (name: string, mountPath: string): object => ({
    name,
    mountPath,
    readOnly: true,
  });
  const sees = chooseSecrets(stage, source, given);
  // BuildKit's images are whole ones. The bounds of its namespace let every build have a core.
  return {
    name: stage,
    image: place.image,
    imagePullPolicy,
    args: [stage],
    env: toVariables(buildEnvironment(stage, { revision, source, given })),
    resources: {
      requests: {
        cpu: formatCores(cpu),
        memory: formatMebibytes(memoryMb),
        'ephemeral-storage': formatMebibytes(SCRATCH),
      },
      limits: {
        cpu: formatCores(Math.max(place.hasBuildkit ? 1 : 0, builder.cpu * 2)),
        memory: formatMebibytes(memoryMb * 2),
        ...disk,
      },
    },
    securityContext:
      place.hasBuildkit && stage === 'build'
        ? BUILDKIT
        : { ...RESTRICTED, readOnlyRootFilesystem: true },
    volumeMounts: [
      { name: 'work', mountPath: '/work' },
      stage === 'build' ? readOnly('kept', KEPT) : { name: 'kept', mountPath: KEPT },
      { name: 'tmp', mountPath: '/tmp' },
      ...(sees.git ? [readOnly('git', GIT)] : []),
      ...(sees.registry ? [readOnly('registry', REGISTRY)] : []),
      ...(sees.ca ? [readOnly('ca', AUTHORITIES)] : []),
    ],
  };
}

/** Returns the variables of a stage, never more than it needs. */
function buildEnvironment(
  stage: Stage,
  { revision, source, given }: StagedBuild,
): Record<string, string | undefined> {
  const { builder, place } = given;
  const { metadata, spec } = revision;
  const { repoUrl, installCommand, buildCommand } = spec.sourceConfig ?? {};
  const { repoRef, gxConfigPath } = spec.template.sourceRevisionConfig ?? {};
  const image = buildTargetImage(revision, builder);
  const registry = {
    GX_IMAGE: image,
    GX_CACHE_IMAGE: buildCacheRepository(image.slice(0, image.lastIndexOf(':'))),
    GX_REGISTRY_INSECURE: builder.insecureRegistry ? 'true' : undefined,
  };
  const shape = {
    GX_CONFIG_PATH: gxConfigPath,
    GX_INSTALL_COMMAND: installCommand,
    GX_BUILD_COMMAND: buildCommand,
    GX_BASE_IMAGE: builder.baseImage,
    GX_PYTHON_BASE_IMAGE: builder.pythonBaseImage,
    GX_NPM_REGISTRY: builder.npmRegistry,
    GX_PYPI_INDEX: builder.pypiIndex,
  };
  const own: Record<Stage, Record<string, string | undefined>> = {
    clone: {
      GX_GIT_URL: repoUrl,
      GX_GIT_REF: repoRef,
      GX_GIT_INSECURE: source.insecureGit ? 'true' : undefined,
    },
    restore: { ...shape, ...registry },
    build: {
      ...shape,
      ...(hasIndexProxy(builder, place) && { GX_INDEX_PROXY: INDEX_PROXY }),
      ...(place.hasBuildkit && registry),
    },
    push: { ...shape, ...registry },
  };
  return {
    ...own[stage],
    GX_KEPT_FOLDER: KEPT,
    GX_GIT_COMMIT: source.commit,
    GX_DEPLOYMENT: spec.deployment,
    GX_REVISION: metadata.name,
    GX_BUILDKIT: place.hasBuildkit && stage !== 'clone' ? 'true' : undefined,
    ...buildProxyVariables(given.proxies),
    NODE_EXTRA_CA_CERTS: chooseSecrets(stage, source, given).ca
      ? `${AUTHORITIES}/ca.crt`
      : undefined,
  };
}

const toVariables = (
  given: Record<string, string | undefined>,
): { name: string; value: string }[] =>
  // Kubernetes would replace `$(NAME)` by a variable, so a literal dollar sign is written twice.
  Object.entries(given).flatMap(([name, value]) =>
    value === undefined ? [] : [{ name, value: value.replaceAll('$', '$$$$') }],
  );

import type { Builder } from '../../../config/platform/builder.ts';
import { buildProxyVariables } from '../../objects/proxy-variables.ts';
import type { Proxies } from '../../../http/outgoing/proxies.ts';
import { INDEX_PORT, INDEXES } from '../../../schema/wire/build-message.ts';
import { formatCores, formatMebibytes } from '../../kernel/quantity.ts';
import { RESTRICTED } from '../objects/containers.ts';
import type { BuildPlace } from './place.ts';

/** The folder of the credentials of private indexes. */
const CREDENTIALS = '/gx/indexes';
/** The most that the proxy takes: it passes packages on and keeps none. The quota of builds counts it, in the chart. */
const MOST = { cpu: 0.2, memoryMb: 192, diskMb: 64 };

/** Returns whether a build has a proxy of private indexes. Builds with BuildKit have none. */
export const hasIndexProxy = ({ indexSecretName }: Builder, { hasBuildkit }: BuildPlace): boolean =>
  indexSecretName !== undefined && !hasBuildkit;

type IndexProxyOptions = {
  builder: Builder;
  place: BuildPlace;
  imagePullPolicy?: string | undefined;
  proxies: Proxies;
  tenant: string;
};

/**
 * Returns the container that stands for private indexes while `build` runs. It alone sees their credentials, and shares
 * neither a folder nor a list of processes with the container that runs the repository's commands.
 */
export function buildIndexProxy({
  builder,
  place,
  imagePullPolicy,
  proxies,
  tenant,
}: IndexProxyOptions): object[] {
  if (!hasIndexProxy(builder, place)) return [];
  const hasAuthorities = builder.caConfigMapName !== undefined;
  const ca = hasAuthorities ? { NODE_EXTRA_CA_CERTS: '/gx/ca/ca.crt' } : {};
  const env: Record<string, string | undefined> = {
    GX_TENANT: tenant,
    ...buildProxyVariables(proxies),
    ...ca,
  };
  return [
    {
      name: INDEXES,
      image: place.image,
      imagePullPolicy,
      args: [INDEXES],
      // It runs beside the stages after it, and is ended with the last one.
      restartPolicy: 'Always',
      env: Object.entries(env).flatMap(([name, value]) =>
        value === undefined ? [] : [{ name, value: value.replaceAll('$', '$$$$') }],
      ),
      resources: {
        requests: {
          cpu: formatCores(Math.min(0.05, builder.cpu)),
          memory: formatMebibytes(96),
          'ephemeral-storage': formatMebibytes(16),
        },
        limits: {
          cpu: formatCores(MOST.cpu),
          memory: formatMebibytes(MOST.memoryMb),
          'ephemeral-storage': formatMebibytes(MOST.diskMb),
        },
      },
      securityContext: { ...RESTRICTED, readOnlyRootFilesystem: true },
      volumeMounts: [
        { name: INDEXES, mountPath: CREDENTIALS, readOnly: true },
        ...(hasAuthorities ? [{ name: 'ca', mountPath: '/gx/ca', readOnly: true }] : []),
      ],
    },
  ];
}

/** A Secret that is not there is named by the proxy, so that the build ends at once with its name. */
export const buildIndexVolume = (builder: Builder, place: BuildPlace, mode: number): object[] =>
  hasIndexProxy(builder, place)
    ? [
        {
          name: INDEXES,
          secret: { secretName: builder.indexSecretName, optional: true, defaultMode: mode },
        },
      ]
    : [];

/** The address at which the commands of a build find the proxy. */
export const INDEX_PROXY = `http://127.0.0.1:${INDEX_PORT}`;
